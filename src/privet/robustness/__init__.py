"""Poisoning and backdoors: the accuracy that a privacy guarantee implies, whatever poisoners do."""

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
    "Guarantee",
    "TailCertificate",
    "certify",
    "compare",
    "infimum",
    "infimum_from_sample",
    "paper_accuracy",
    "paper_attack_success",
    "retraining_scores",
    "tail_certificate",
    "tail_certificates",
    "two_sided",
]
