"""Poisoning and backdoors: certificates from the same epsilon, and attacks that put them to the test."""

from privet_papers.vos_2023.attacks import flip_labels, insert_records
from privet_papers.vos_2023.backdoors import Trigger, attack_success_rate, plant_backdoor
from privet_papers.vos_2023.dpa import DPAClassifier

from privet.robustness.bounds import (
    TailCertificate,
    infimum,
    infimum_from_sample,
    paper_accuracy,
    paper_attack_success,
    tail_certificate,
    tail_certificates,
    two_sided,
)
from privet.robustness.certify import certify, retraining_scores
from privet.robustness.guarantees import Closeness, Guarantee
from privet.robustness.plots import compare
from privet.robustness.table import Certificate, Certificates

__all__ = [
    "Certificate",
    "Certificates",
    "Closeness",
    "DPAClassifier",
    "Guarantee",
    "TailCertificate",
    "Trigger",
    "attack_success_rate",
    "certify",
    "compare",
    "flip_labels",
    "infimum",
    "infimum_from_sample",
    "insert_records",
    "paper_accuracy",
    "paper_attack_success",
    "plant_backdoor",
    "retraining_scores",
    "tail_certificate",
    "tail_certificates",
    "two_sided",
]
