"""The auditor: tests that could refute a privacy claim, of privet's own learners and of any other estimator."""

from privet.audit.canaries import canaries
from privet.audit.neighbour_pair import NeighbourPair
from privet.audit.neighbours import NEIGHBOUR_PAIRS
from privet.audit.pipelines import PipelineFinding, PipelineReport, audit_pipeline
from privet.audit.report import AuditReport, Claim, Finding
from privet.audit.statistical import Progress, statistical_audit
from privet.audit.whole import audit

__all__ = [
    "NEIGHBOUR_PAIRS",
    "AuditReport",
    "Claim",
    "Finding",
    "NeighbourPair",
    "PipelineFinding",
    "PipelineReport",
    "Progress",
    "audit",
    "audit_pipeline",
    "canaries",
    "statistical_audit",
]
