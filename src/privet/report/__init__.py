"""Self-contained HTML pages: about a model, for those who must sign, and about a forecast, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.report.forecast_page import render_forecast, write_forecast
from privet.report.page import render
from privet.writing import replace_text

if TYPE_CHECKING:
    from privet.audit.report import AuditReport
    from privet.report.evaluation import Evaluation

__all__ = ["render", "render_forecast", "write_forecast", "write_report"]


def write_report(
    estimator: Any, path: str | Path, *, evaluation: Evaluation | None = None, audit: AuditReport | None = None
) -> None:
    """Write the page of a fitted estimator; see `render`."""
    replace_text(path, render(estimator, evaluation=evaluation, audit=audit))
