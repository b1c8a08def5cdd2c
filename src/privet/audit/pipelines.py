"""Audit of pipelines: whether more of a record reaches a private estimator, or leaves around it, than its ledger says.

A ledger covers what its estimator was given. It does not cover a scaler that was fitted on the records, a bootstrap
that copies them, or a search that fits many times. Such steps are found by experiment. The whole pipeline is fitted on
neighbouring data sets, made up from the schema, with a stand-in for each private estimator. A stand-in learns nothing
and records what it is given. What a private estimator itself releases is covered by its ledger; anything else that
differs between neighbours is in no ledger.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from privet.audit.pipeline_runs import Given, RecordChange, Run, neighbours, private_estimators, run
from privet.errors import AuditError
from privet.schema.schema import Schema

Kind = Literal["before", "copies", "resampled", "after", "fails", "labels", "many fits"]

REMEDIES: dict[Kind, str] = {
    "before": "use steps that look at no data, such as privet.SchemaScaler, which takes bounds from the schema; or "
    "leave it out, since trees need no scaling",
    "copies": "fit on the records as they are; or give each record an id, declare Unit('row_id', 1) with "
    "neighbours='replace', and let the id reach the estimator",
    "resampled": "divide records by something of the record itself, or declare neighbours='replace' where only their "
    "number decides",
    "after": "do not publish it, or compute it on public records",
    "fails": "use steps that take every value that the schema allows",
    "labels": "list the classes in the schema as they reach the estimator, usually 0, 1, ... in sorted order",
    "many fits": "put all of it under privet.budget(epsilon=...), which adds the fits up",
}
CHANGED: dict[RecordChange, str] = {
    "values replaced": "one record was replaced",
    "record replaced": "one record was replaced",
    "label replaced": "one label changed",
    "record added": "one record was added",
}
_HARMLESS = ("labels", "many fits")  # each ledger stays true


@dataclass(frozen=True)
class PipelineFinding:
    """One way in which a pipeline uses more of the records than the ledger says.

    Attributes
    ----------
    kind : str
        What reaches the estimator differs in more than the changed record: in values ("before"), in the number of
        "copies", or in which records are used ("resampled"). Something beside the estimator holds facts about the
        records ("after"). Whether the pipeline can be fitted depends on a record ("fails"). Two further kinds leave
        each ledger true: labels that the schema does not know ("labels"), and several fits, whose epsilons add up
        ("many fits").
    step : str
        Which part of the pipeline.
    what : str
        What it did.
    """

    kind: Kind
    step: str
    what: str

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return REMEDIES[self.kind]

    @property
    def voids(self) -> bool:
        """Whether the ledger's statement does not hold for the records."""
        return self.kind not in _HARMLESS

    def __str__(self) -> str:
        return f"{self.step}: {self.what}. Remedy: {self.remedy}."


@dataclass(frozen=True)
class PipelineReport:
    """What `audit_pipeline` found.

    Attributes
    ----------
    subject : str
        What was looked at.
    relation : str
        What neighbours are.
    fits : int
        How often private estimators are fitted when the whole is fitted once.
    findings : tuple of PipelineFinding
        Empty if nothing was found, which is not a proof.
    """

    subject: str
    relation: str
    fits: int
    findings: tuple[PipelineFinding, ...]

    @property
    def refuted(self) -> bool:
        """Whether the ledger's guarantee does not hold for the records that the whole is fitted on."""
        return any(finding.voids for finding in self.findings)

    def __str__(self) -> str:
        """The report as text."""
        verdict = "the ledger's guarantee does not hold for the records" if self.refuted else "not refuted"
        lines = [f"Audit of {self.subject} ({self.relation})", f"verdict: {verdict}", f"private fits: {self.fits}"]
        lines += [f"- {finding}" for finding in self.findings]
        if not self.refuted:
            lines.append("That is no proof: a step that acts on other records than these may still void the guarantee.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        findings = [{**asdict(f), "remedy": f.remedy, "voids": f.voids} for f in self.findings]
        own = {"subject": self.subject, "relation": self.relation, "fits": self.fits, "refuted": self.refuted}
        return {**own, "findings": findings}


def audit_pipeline(estimator: Any, *, schema: Schema | None = None) -> PipelineReport:
    """Look for what stands around a private estimator and voids its guarantee.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A pipeline, a search, a bagging, a calibration, ... with one or more privet estimators inside. It is cloned and
        not changed; no data of yours is read, and nothing is spent.
    schema : Schema, optional
        The schema of the data that enters the pipeline, if it differs from what the private estimator expects. By
        default the private estimator's own schema.

    Returns
    -------
    PipelineReport
        ``print`` it; ``report.refuted`` says whether the ledger's guarantee does not hold for the records.

    Raises
    ------
    AuditError
        If there is no privet estimator inside, it has no schema, or the whole cannot be fitted.

    Notes
    -----
    Public randomness is held fixed (``random_state=0`` where it is None), so that what differs comes from the records.
    Numbers count as equal if their first nine digits are.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from privet import Numeric, PrivaTreeClassifier, Schema
    >>> schema = Schema({"age": Numeric(0, 1), "height": Numeric(0, 1)}, classes=[0, 1])
    >>> report = audit_pipeline(make_pipeline(MinMaxScaler(), PrivaTreeClassifier(schema=schema)))
    >>> report.refuted, report.findings[0].step, report.findings[0].what
    (True, 'minmaxscaler (MinMaxScaler)', '32 of 32 other records changed when one record was replaced')
    >>> audit_pipeline(PrivaTreeClassifier(schema=schema)).refuted
    False
    """
    private = private_estimators(estimator)
    entering = schema or private[0].schema
    if not isinstance(entering, Schema):
        raise AuditError("the private estimator has no schema, so its ledger claims nothing; give it one")
    name = type(estimator).__name__
    findings: list[PipelineFinding] = []
    fits = 0
    for change, first, second in neighbours(entering):
        before, again, after = run(estimator, first), run(estimator, first), run(estimator, second)
        if isinstance(before, Exception) or isinstance(again, Exception):
            raise AuditError(
                f"{name} cannot be fitted on records of the schema: {before}. Where other columns enter it than reach "
                "the private estimator, pass schema=..."
            )
        if before.given != again.given:
            raise AuditError(f"{name} varies with the same records; set every random_state in it, also that of cv=...")
        fits = max(fits, len(before.given))
        if isinstance(after, Exception):
            what = f"it could not be fitted any more when {CHANGED[change]} ({type(after).__name__})"
            findings.append(PipelineFinding("fails", name, what))
        else:
            findings += _Comparison(name, change, before, again, after).findings()
    in_front = {finding.step for finding in findings if finding.kind == "before"}
    findings = [finding for finding in findings if finding.kind != "after" or finding.step not in in_front]
    unique = {(finding.kind, finding.step): finding for finding in reversed(findings)}
    ordered = sorted(unique.values(), key=lambda finding: list(REMEDIES).index(finding.kind))
    return PipelineReport(name, entering.neighbours, fits, tuple(ordered))


@dataclass(frozen=True)
class _Comparison:
    """Runs on two neighbouring data sets, and a second run on the first, which shows what varies anyway."""

    name: str
    change: RecordChange
    before: Run
    again: Run
    after: Run

    def findings(self) -> list[PipelineFinding]:
        found = self._at_the_door()
        for step, places in self._differing().items():
            shown = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
            found.append(PipelineFinding("after", step, f"it holds facts about the records without noise ({shown})"))
        return found

    def _at_the_door(self) -> list[PipelineFinding]:
        """What private estimators were given."""
        first, second = self.before.given, self.after.given
        if len(first) != len(second):
            what = f"{len(first)} private fits became {len(second)} when {CHANGED[self.change]}"
            return [PipelineFinding("resampled", self.name, what)]
        found = []
        if any(given.strange_labels for given in second):
            what = "labels reach the private estimator that are none of its schema's classes; it leaves them out"
            found.append(PipelineFinding("labels", self.name, what))
        differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
        if len(differing) > 1:
            what = (
                f"one record reaches {len(differing)} of {len(first)} private fits, and each ledger states only its own"
            )
            found.append(PipelineFinding("many fits", self.name, what))
        worst: dict[Kind, tuple[int, str]] = {}
        for a, b in differing:
            kind, size, what = self._judged(a, b)
            if kind is not None and size > worst.get(kind, (0, ""))[0]:
                worst[kind] = size, what
        for kind, (_, what) in worst.items():
            if kind == "before":
                found += [PipelineFinding("before", step, what) for step in self._in_front() or [self.name]]
            else:
                found.append(PipelineFinding(kind, self.name, what))
        return found

    def _judged(self, a: Given, b: Given) -> tuple[Kind | None, int, str]:
        """Return the kind and the size of the difference between what one fit was given in the two runs."""
        if a.columns != b.columns:
            return "before", 10**9, f"other columns reached the private estimator when {CHANGED[self.change]}"
        lost, gained = a.rows - b.rows, b.rows - a.rows
        allowed = 0 if self.change == "record added" else 1
        if lost.total() <= allowed and gained.total() <= 1:
            return None, 0, ""
        if len(lost) <= allowed and len(gained) <= 1:
            copies = max(lost.total(), gained.total())
            return "copies", copies, f"{copies} copies of one record reached one private fit"
        others = max(lost.total() - allowed, gained.total() - 1)
        what = f"{others} of {a.rows.total() - allowed} other records changed when {CHANGED[self.change]}"
        # If only values change, a step that resamples records has no reason to choose others.
        if self._in_front() or self.change == "values replaced":
            return "before", others, what
        return "resampled", others, what.replace("changed when", "came or went when")

    def _in_front(self) -> list[str]:
        """Which steps transform records by what they have learned from other records."""
        return [step for step in self._differing() if step in self.after.transformers and step != self.name]

    def _differing(self) -> dict[str, list[str]]:
        """What was learned outside the private estimators and differs, by the step that holds it."""
        first, second = self.before.learned, self.after.learned
        differing: dict[str, list[str]] = {}
        for step, place in dict.fromkeys([*first, *second]):
            key = step, place
            varies = first.get(key) != self.again.learned.get(key)
            if not varies and first.get(key) != second.get(key):
                differing.setdefault(step, []).append(place)
        return differing
