"""What commands that train share: records to fit on, the files in which a model is written, and what is said then."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from privet.cli.console import note, print_json, refuse_overwriting, say, working
from privet.cli.spending import what_is_left
from privet.errors import ParameterError

if TYPE_CHECKING:
    from privet.frames.text_forms import TextOptions
    from privet.schema.schema import Schema

HINT = (
    "privet: hint: labels and values that the schema does not know are left out or mapped, and a training cannot say "
    "so; run `privet schema check {schema} {data}` first"
)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Records with known labels: frames in memory, or a table that is streamed and has its target.

    Attributes
    ----------
    given : tuple
        What a fit takes.
    streamed : bool
        Whether records are read while the fit runs. Such a fit shows its own progress.
    """

    given: tuple[Any, ...]
    streamed: bool

    @staticmethod
    def read(
        data: Sequence[str], public: Schema, target: str | None, form: TextOptions, schema: Path | None
    ) -> Labelled:
        """Find the records and their target, and say how to check that they fit the schema."""
        from privet.cli.data import read_labelled
        from privet.cli.tables import described_table, with_target

        table = described_table(data, form)
        if table is None:
            with working("reading"):
                frame, name = read_labelled([Path(path) for path in data], public, target, form)
            found = Labelled((frame.drop(columns=name), frame[name]), streamed=False)
        else:
            found = Labelled((with_target(table, public, target),), streamed=True)
        note(HINT.format(schema=schema, data=" ".join(map(quote, data))))
        return found

    def train(self, estimator: Any, jobs: int) -> None:
        """Fit an estimator; one that reads a streamed table uses all cores, unless a number of them was asked for."""
        if self.streamed and jobs == 1:
            estimator.set_params(n_jobs=None)
        with nullcontext() if self.streamed else working("training"):
            estimator.fit(*self.given)


@dataclass(frozen=True)
class ModelFiles:
    """A model file, and the report page beside it if there is to be one."""

    model: Path
    page: Path | None

    @staticmethod
    def checked(out: Path, page: bool, force: bool, inputs: Sequence[Path]) -> ModelFiles:
        """Make sure that the files can be written, before anything is spent on their content."""
        refuse_overwriting(out, force, inputs)
        if not page:
            return ModelFiles(out, None)
        beside = out.with_suffix(".html")
        if beside == out:
            raise ParameterError(f"{out} is where the report page goes; end the model's name in .json, or --no-report")
        refuse_overwriting(beside, force, inputs)
        return ModelFiles(out, beside)

    @contextmanager
    def opened(self) -> Iterator[Callable[[Any], None]]:
        """Open both files, and yield what writes an estimator to them; old ones are replaced when both are complete."""
        from privet.writing import replacing

        with ExitStack() as files:
            page = None if self.page is None else files.enter_context(replacing(self.page))
            model = files.enter_context(replacing(self.model))

            def write(estimator: Any) -> None:
                with working("writing"), _rescuing(estimator, self.model):
                    estimator.save(model)
                    if page is not None:
                        from privet.report import write_report

                        write_report(estimator, page)

            yield write

    def in_words(self) -> list[str]:
        """Return a line for each file."""
        return [f"model:  {self.model}", *([] if self.page is None else [f"report: {self.page}"])]

    def as_data(self) -> dict[str, str | None]:
        """Return the files' names, for programs."""
        return {"model": str(self.model), "report": None if self.page is None else str(self.page)}


def say_trained(
    fitted: Any, files: ModelFiles, first: str | None, facts: dict[str, Any], *, as_json: bool, full: bool
) -> None:
    """Print what was spent on a model and where it is: as JSON after some facts, or in words after a first line."""
    from privet.privacy.text import guarantee_as_data

    ledger = fitted.privacy_
    if as_json:
        print_json({**facts, **files.as_data(), **guarantee_as_data(ledger), "privacy": ledger.to_dict()})
        return
    if first is not None:
        say(f"{first}\n")
    say(ledger.table(full=full))
    say()
    for line in [*files.in_words(), *(f"budget: {line}" for line in what_is_left(fitted))]:
        say(line)


@contextmanager
def _rescuing(estimator: Any, wanted: Path) -> Iterator[None]:
    """Write a model that was paid for elsewhere if the block cannot write it; the error is raised nevertheless."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="privet-"))
            elsewhere = folder / f"{wanted.stem or 'model'}.json"
            try:
                estimator.save(elsewhere)
            except OSError:
                folder.rmdir()
                raise
            note(f"privet: the budget was spent, so the model was written to {elsewhere} instead; move it from there")
        raise
