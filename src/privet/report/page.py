"""The page: one HTML file about one model, without script, that needs nothing from the network."""

from __future__ import annotations

from typing import Any

import privet
from privet.audit.report import AuditReport
from privet.errors import ParameterError
from privet.estimators.files import file_content
from privet.markup import join, paragraph, tag
from privet.parameters import check_rows_hint
from privet.privacy.text import guarantee_in_words
from privet.report import evidence_sections, sections
from privet.report.document import document, section
from privet.report.evaluation import Evaluation
from privet.report.words import badge


def render(estimator: Any, *, evaluation: Evaluation | None = None, audit: AuditReport | None = None) -> str:
    """Return the page of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        A fitted one of privet.
    evaluation : Evaluation, optional
        Figures on public records, of this very model.
    audit : AuditReport, optional
        What an audit found.

    Notes
    -----
    *Privacy.* The page is made from the model file's content, made-up inputs, and what is passed in: it may be
    published with the model. There is no date on it, no duration, and no number of records.
    """
    content = file_content(estimator)
    ledger, schema, n_rows = estimator.privacy_, estimator.schema_, check_rows_hint(estimator.n_rows_hint)
    if evaluation is not None:
        _refuse_unfit(evaluation, content["digest"])
    parts = [
        ("learned", "What was learned", sections.learned(estimator.model_)),
        ("guarantee", "What is guaranteed", sections.guarantee(ledger, n_rows)),
        ("budget", "Where the budget went", sections.budget(ledger)),
        ("schema", "What is public", sections.public_schema(schema)),
        ("accuracy", "How accurate it is", evidence_sections.accuracy(evaluation)),
        ("poisoning", "What planted records can do", evidence_sections.poisoning(ledger, schema.target)),
        ("audit", "What an audit found", evidence_sections.audited(audit, ledger)),
        ("verify", "How to verify this page", evidence_sections.verify(content)),
        ("limits", "What is not protected", evidence_sections.limits()),
    ]
    name = content["estimator"]
    links = [tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in parts]
    body = join(
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag(
            "header",
            tag("h1", f"Privacy report: {name}"),
            paragraph(badge(ledger, n_rows), " ", guarantee_in_words(ledger), class_="lead"),
            tag("nav", tag("ol", *links), aria_label="Sections"),
        ),
        tag("main", *(section(*part) for part in parts), id="report"),
        tag("footer", paragraph(f"Made by privet {privet.__version__} from the model alone.", class_="muted")),
    )
    return document(f"Privacy report: {name}", body)


def _refuse_unfit(evaluation: Evaluation, digest: str) -> None:
    if evaluation.model_digest != digest:
        raise ParameterError("the evaluation is of another model; measure this one with `privet evaluate`")
    if not evaluation.public:
        raise ParameterError(
            "the evaluation is on private records, so it would be a disclosure on this page; measure on public records "
            "with `privet evaluate --public`"
        )
