"""What a page is given besides the model: an evaluation and an audit, read from JSON files."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

from privet.audit.report import AuditReport, Claim, Finding
from privet.errors import ParameterError
from privet.report.evaluation import Evaluation, evaluation_from_dict

MAX_BYTES = 4 << 20


def read_evaluation(path: Path) -> Evaluation:
    """Read what `privet evaluate -o` wrote."""
    content = _read(path)
    try:
        return evaluation_from_dict(content)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from error


def read_audit(path: Path) -> AuditReport:
    """Read what `privet audit -o` wrote."""
    content = _read(path)
    try:
        claimed = content["claimed"]
        findings = [_finding(entry) for entry in content["findings"]]
        return AuditReport(
            str(content["subject"]),
            Claim.stated(claimed["epsilon"], claimed["delta"], claimed["relation"]),
            findings,
            None if content["upper"] is None else float(content["upper"]),
            int(content["trainings"]),
            [str(text) for text in content["notes"]],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(
            f"{path}: not an audit ({type(error).__name__}); make one with `privet audit -o`"
        ) from error


def _finding(entry: Any) -> Finding:
    known = {name: entry[name] for name in Finding.__dataclass_fields__}
    # JSON has no infinity: a bound of null is a distribution's support that gives the data away.
    known["epsilon"] = inf if known["epsilon"] is None else float(known["epsilon"])
    if not isinstance(known["refuted"], bool):
        raise TypeError("refuted")
    return Finding(**known)


def _read(path: Path) -> Any:
    if not path.is_file():
        raise ParameterError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}; check the path")
    if path.stat().st_size > MAX_BYTES:
        raise ParameterError(f"{path}: larger than {MAX_BYTES >> 20} MB, which neither an evaluation nor an audit is")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: damaged or cut short, not JSON; make it again") from error
