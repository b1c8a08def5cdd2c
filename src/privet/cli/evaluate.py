"""``privet evaluate``: how often a model is right, or how far off its predictions are, and what that discloses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.console import note, print_json, print_table, refuse_overwriting, say, working, write_json
from privet.cli.options import (
    Decimal,
    Delta,
    Encoding,
    Force,
    Jobs,
    Json,
    ModelFile,
    NaWords,
    Records,
    Separator,
    Target,
)
from privet.cli.spending import BudgetAddress, Dataset, Purpose, charged_to
from privet.errors import ParameterError

if TYPE_CHECKING:
    from privet.evaluation import PrivateEvaluation

DISCLOSURE = (
    "A figure on private records is itself a disclosure: it was computed exactly, without noise, and no ledger "
    "covers it. Keep it where the data is, pay for figures that may leave with --epsilon 0.1, or measure on public "
    "records and say so with --public."
)


def evaluate(
    model: ModelFile,
    data: Records,
    target: Target = None,
    public: Annotated[
        bool, typer.Option("--public", help="State that these records are public, so that the figures may be, too.")
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Measure with noise, and spend this much; else figures are exact."),
    ] = None,
    delta: Delta = 0.0,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Compare the groups of a categorical feature; with --epsilon.", metavar="NAME"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the figures, for `privet report`.", metavar="FILE")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    budget: BudgetAddress = None,
    dataset: Dataset = None,
    purpose: Purpose = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Measure a model on records with known labels.

    With `--epsilon` all figures are private: each comes with a 95% interval that allows for the noise and for the
    sampling error, and with the ledger of what it cost. Without it figures are exact, each beside what a constant guess
    would reach, and not private: they are rounded and printed with a warning and without the number of records, and
    they become part of a report page only if the records are public.

    Examples:

      privet evaluate model.json held_out.csv --epsilon 0.1 --by sex

      privet evaluate model.json held_out.csv --epsilon 0.1 --budget hospital.db --dataset patients

      privet evaluate model.json held_out.csv --public -o evaluation.json
    """
    import privet
    from privet.cli.data import read_labelled
    from privet.cli.tables import described_table, read_target, with_target
    from privet.frames.text_forms import TextOptions
    from privet.report.evaluation import measure

    if epsilon is None and by is not None:
        raise ParameterError("--by compares groups with noise: say what to spend, e.g. --epsilon 0.1")
    if epsilon is not None and public:
        raise ParameterError("--public and --epsilon were both given: public records need no noise; leave out one")
    if out is not None:
        refuse_overwriting(out, force, [model, *map(Path, data)])
    estimator = privet.load(model)
    estimator.set_params(n_jobs=jobs)
    with working("reading"):
        form = TextOptions.of(separator, encoding, decimal, na)
        table = described_table(data, form)
        if table is None:
            files = [Path(path) for path in data]
            frame, name = read_labelled(files, estimator.schema_, target, form, private=epsilon is not None)
            X: Any = frame.drop(columns=name)
            y: Any = frame[name]
        else:
            X = with_target(table, estimator.schema_, target)
            y = X.target if epsilon is not None else read_target(X, estimator)
    if epsilon is not None:
        with charged_to(budget, dataset, purpose), working("predicting"):
            found = privet.evaluate(estimator, X, y, epsilon=epsilon, delta=delta, by=by)
        _show(found, out, as_json)
        return
    with working("predicting"):
        named = ", ".join(path if path.startswith("duckdb:") else Path(path).name for path in data)
        evaluation = measure(estimator, X, y, data=named, public=public)
    if out is not None:
        write_json(evaluation.to_dict(), out)
    if as_json:
        print_json(evaluation.to_dict())
    else:
        print_table(("measure", "value"), evaluation.figures())
        if out is not None:
            say(f"\nwrote {out}")
    if not public:
        note(DISCLOSURE)


def _show(found: PrivateEvaluation, out: Path | None, as_json: bool) -> None:
    """Print figures with their intervals, and what they cost."""
    if out is not None:
        write_json(found.to_dict(), out)
    if as_json:
        print_json(found.to_dict())
        return
    for shown in found.tables():
        print_table(shown.header, shown.rows)
        say()
    say(found.privacy.table())
    if out is not None:
        say(f"\nwrote {out}")
