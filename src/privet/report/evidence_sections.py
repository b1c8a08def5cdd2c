"""The sections of the page that rest on more than the model: accuracy, poisoning, audit, verification, limits."""

from __future__ import annotations

from typing import Any

from privet.audit.report import AuditReport
from privet.errors import ParameterError
from privet.markup import Markup, bullets, figure, join, paragraph, table, tag
from privet.privacy.ledger import Ledger
from privet.privacy.statements import fixed_down
from privet.report import regression_pictures
from privet.report.charts import Line, lines
from privet.report.evaluation import Evaluation, RegressionEvaluation
from privet.robustness.bounds import two_sided
from privet.robustness.guarantees import CHANGES, Change, Guarantee
from privet.schema.domains import Categorical, Domain

NOT_A_PROOF = (
    "Not refuted is not a proof: another test might still find something. The proof is the library's; the audit is a "
    "check of it."
)
CLEAN = (0.95, 0.9, 0.8)
POINTS = 60


def accuracy(evaluation: Evaluation | None) -> Markup:
    """How good the model is, and where that figure comes from."""
    if evaluation is None:
        return join(
            paragraph("Not measured on this page. To add figures, measure on records that are public:"),
            tag(
                "pre",
                "privet evaluate model.json public_records.csv --public -o evaluation.json\n"
                "privet report model.json --evaluation evaluation.json --force",
            ),
            paragraph("A figure on private records is itself a disclosure, so it is not put here."),
        )
    rows: list[list[Any]] = [[name, value] for name, value in evaluation.figures()]
    pictures = (
        [regression_pictures.predicted_against_true(evaluation), regression_pictures.residuals(evaluation)]
        if isinstance(evaluation, RegressionEvaluation)
        else []
    )
    return join(
        table("Figures", ["measure", "value"], rows, numbers=frozenset({1})),
        tag("div", *pictures, class_="pair") if any(pictures) else None,
        paragraph(
            f"Measured on {evaluation.data}, whose records are stated to be public by whoever measured. The figures "
            "are exact up to rounding, without noise, and bound to this model by its digest.",
            class_="note",
        ),
    )


def poisoning(ledger: Ledger, target: Domain) -> Markup:
    """What somebody who plants records can do, from the same guarantee."""
    try:
        guarantee = Guarantee.of(ledger)
    except ParameterError as error:
        return paragraph(f"Nothing can be said: {error}.")
    change, noun = next(change for change in CHANGES if _covers(guarantee, change)), guarantee.noun
    steps = guarantee.steps(change)
    most = max(4, min(10_000, round(6 / (float(guarantee.epsilon) * steps))))
    step = max(1, most // POINTS)
    planted = list(range(0, most + 1, step))

    def least(clean: float, n_planted: int) -> float:
        return max(0.0, two_sided(clean, guarantee.under(n_planted, change)))

    score = "accuracy" if isinstance(target, Categorical) else "share of good predictions"
    names = [f"{clean:.0%} when clean" for clean in CLEAN]
    x = [n / planted[-1] for n in planted]
    what = {"added_or_removed": "planted or removed", "modified": "changed", "relabelled": "relabelled"}[change]
    picture = lines(
        f"Guaranteed {score} under poisoning",
        [Line(name, [least(clean, n) for n in planted]) for name, clean in zip(names, CLEAN, strict=True)],
        [(x[i], str(planted[i])) for i in (0, len(planted) // 2, len(planted) - 1)],
        x=x,
        width=640,
        height=260,
        x_title=f"{noun}s {what}",
        y_title=f"Least expected {score}",
    )
    shown = planted[:: max(1, len(planted) // 6)]
    rows = [[str(n), *(f"{fixed_down(100 * least(clean, n), 1)}%" for clean in CLEAN)] for n in shown]
    return join(
        paragraph(
            "Whoever plants records in the training data changes the law of the trained model no more than any other "
            f"person would. So if training on the clean data gives an expected {score} of a, then with n {noun}s "
            f"{what} it is at least the height of the curve, whatever the poisoner knows and does. These curves "
            "follow from the guarantee alone; none of the data was used."
        ),
        None
        if isinstance(target, Categorical)
        else paragraph("A prediction counts as good if it is within a tolerance that was fixed before.", class_="note"),
        paragraph(f"{note}.", class_="note") if (note := guarantee.counting(change)) else None,
        figure(picture, f"Least expected {score} by the number of {noun}s {what}, for three clean values."),
        table(f"Least expected {score}", [f"{noun}s {what}", *names], rows, numbers=frozenset({1, 2, 3})),
    )


def _covers(guarantee: Guarantee, change: Change) -> bool:
    try:
        guarantee.steps(change)
    except ParameterError:
        return False
    return True


def audited(report: AuditReport | None, ledger: Ledger) -> Markup:
    """What tests that could have refuted the claim found."""
    if report is None:
        return join(
            paragraph(
                "Not run for this page. An audit tries to refute the claim; it reads none of the data and spends "
                "nothing:"
            ),
            tag("pre", "privet audit model.json -o audit.json\nprivet report model.json --audit audit.json --force"),
        )
    rows: list[list[Any]] = [
        [found.name, found.kind, fixed_down(found.epsilon), found.verdict, found.event] for found in report.findings
    ]
    badge = tag("span", report.verdict.capitalize(), class_="badge no" if report.refuted else "badge fair")
    same = report.claimed.epsilon == ledger.epsilon and report.claimed.relation == ledger.terms.neighbours
    return join(
        paragraph(badge, f" Audit of {report.subject}; claim: {report.claimed}."),
        None if same else paragraph("The audited claim is not the one of this model.", class_="note"),
        table("Findings", ["test", "kind", "lower bound on epsilon", "verdict", "event"], rows, numbers=frozenset({2})),
        None if report.refuted else paragraph(NOT_A_PROOF, class_="note"),
    )


def verify(content: dict[str, Any]) -> Markup:
    """How to check this page against the model file."""
    return join(
        tag(
            "dl",
            *(tag("dt", "model digest"), tag("dd", tag("code", content["digest"]))),
            *(tag("dt", "schema digest"), tag("dd", tag("code", content["certificate"]["schema_digest"]))),
            *(tag("dt", "learner"), tag("dd", content["estimator"])),
            *(tag("dt", "trained by"), tag("dd", content["certificate"]["library"])),
        ),
        paragraph("With the model file at hand, each line can be repeated by anybody:"),
        tag(
            "pre",
            "privet report model.json -o again.html      # this page again, from the file alone\n"
            "privet audit model.json --level thorough    # try to refute the claim\n"
            "privet schema check schema.yaml             # the schema's digest",
        ),
        bullets(
            "Loading checks the file's digest, and that the certificate follows from the ledger and the schema in it.",
            "The digest guards against damage. Whether the ledger is true is as good as whoever trained the model: "
            "keep the digest where it cannot be changed, or sign the file.",
        ),
    )


def limits() -> Markup:
    """What is not protected."""
    return bullets(
        "What happened before: the guarantee is for what reached this estimator. A scaler or a selection of features "
        "that was fitted on the records, or a bootstrap that copied them, is not covered; privet.audit.audit_pipeline "
        "looks for such steps.",
        "What happened after: a threshold or a calibration that was chosen on the records is not covered either.",
        "The schema: bounds, categories and classes count as public. If they were looked up in the data, nothing is "
        "proven.",
        "Facts about groups: what is true of many people can be learned, and used about anybody.",
        "Other releases: each further model, statistic or accuracy on the same records adds to what this one "
        "disclosed.",
        "The training computer: memory, swap, logs and how long training took are not covered. Keep it where the data "
        "is.",
        "The predictions of new people: whoever sends a record for a prediction shows it to whoever runs the model.",
        "More than the unit: somebody with several records where the schema declares no unit, or with several units, "
        "or a family, is protected less: epsilon grows with their number.",
        "Fairness and correctness: a private model can be wrong, and can be wrong about some groups more than others.",
    )
