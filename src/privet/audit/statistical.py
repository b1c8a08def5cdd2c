"""The black-box audit: train many times on two neighbours, and bound epsilon from below by what came out.

The trainings on each data set fall into two halves. On the first half an event is chosen whose probabilities differ
most; on the second half it is tested with exact (Clopper-Pearson) intervals, so the choice costs no validity. The
error probability is shared among pairs, projections and directions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from time import monotonic
from typing import Any

from privet.audit.bounds import choose_event, epsilon_lower_bound, trials_needed
from privet.audit.neighbour_pair import NeighbourPair
from privet.audit.projections import projection_name
from privet.audit.report import AuditReport, Claim, Finding
from privet.audit.store import SIDES_AND_HALVES, OutcomeStore, Tally, fingerprint
from privet.audit.workers import Chunk, ChunkResult, Project, Train, WorkerJob, encode, runner
from privet.errors import AuditError
from privet.progress import Step, tell

_CHUNK_SECONDS = 1.0
_FIRST_CHUNK, _LARGEST_CHUNK = 64, 10_000
_DIRECTIONS = ((0, 1, "D over D'"), (1, 0, "D' over D"))
# Sequences of outcomes that agree by chance with probability at most 2^-40 are taken for repeated noise.
_BITS_BEYOND_CHANCE = 40


@dataclass(frozen=True)
class Progress:
    """The progress of an audit: trainings done, and their total (None: as many as the minutes allow)."""

    done: int
    total: int | None


def statistical_audit(
    train: Train | str,
    pairs: Sequence[NeighbourPair],
    *,
    epsilon: float | None,
    delta: float | None = 0.0,
    relation: str | None,
    projections: Sequence[Project] | None = None,
    settings: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    max_trainings: int | None = None,
    max_minutes: float | None = None,
    n_jobs: int | None = None,
    python: str | Path | None = None,
    store: str | Path | None = None,
    identity: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    verbose: bool = False,
) -> AuditReport:
    """Try to refute a privacy claim by training on neighbouring data sets.

    Parameters
    ----------
    train : callable or str
        ``train(X, y, **settings)`` returns the trained object, with fresh noise every time. What is public, such as
        the seed of the shape of random trees, may be fixed or not, as in use. ``"file.py:function"`` names it by its
        source, which is what another interpreter needs.
    pairs : sequence of NeighbourPair
        Neighbouring data sets; see ``privet.audit.neighbours``.
    epsilon, delta, relation
        The claim. There is no default for epsilon and the relation: an audit tests what is stated.
    projections : sequence of callables, optional
        What to look at in a model, instead of what each pair suggests.
    settings : mapping, optional
        Keyword arguments of ``train``.
    confidence : float
        All lower bounds of the report hold together with this probability.
    max_trainings, max_minutes : optional
        Limits. With neither, eight times the least number that could refute, and at least 1000 in each half.
    n_jobs : int, optional
        Processes; -1 for one per core.
    python : str or Path, optional
        The interpreter of another environment to train in; privet need not be installed there.
    store : str or Path, optional
        A file of outcome counts. A stopped audit goes on from it. Each look at the result halves the error
        probability that is left, so that looking and going on stays valid.
    identity : str, optional
        Names what is audited, with its parameters; required with ``store``, which keeps counts under it.
    progress : callable, optional
        Called with a ``Progress`` after every chunk of trainings.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    AuditReport

    Raises
    ------
    AuditError
        If no claim or relation is stated, a pair is not a pair of neighbours under the relation, there are too few
        trainings for any event to refute the claim, outcomes cannot be counted, noise repeats itself, or the other
        interpreter cannot be started.

    Notes
    -----
    *Privacy.* An audit trains on made-up public records and needs no private data. A report on private data would
    itself not be private.
    """
    claim = Claim.stated(epsilon, delta, relation)
    views = _check_pairs(pairs, claim, projections)
    if not 0 < confidence < 1:
        raise AuditError(f"confidence={confidence} is not between 0 and 1")
    if max_minutes is not None and max_minutes <= 0:
        raise AuditError(f"max_minutes={max_minutes}; give a positive number")
    if store is not None and identity is None:
        raise AuditError("with a store, name what is audited by identity=...; its counts are kept under that name")

    samples = _Samples(pairs, views, OutcomeStore(store) if store is not None else None, identity, settings)
    strictest = min(samples.levels(1 - confidence))
    needed = trials_needed(claim.epsilon, claim.delta, strictest)
    per_cell = _trainings_per_cell(len(pairs), needed, max_trainings, max_minutes)

    run, workers = runner(n_jobs, python)
    job = WorkerJob(train, dict(settings or {}), [p.name for p in pairs], [(p.D, p.D_prime) for p in pairs], views)
    schedule = _Schedule(samples.tallies, per_cell, workers, max_minutes)
    total = None if per_cell is None else 4 * per_cell * len(pairs)
    with ExitStack() as stack:
        report_progress = [callback for callback in (progress,) if callback is not None]
        report_progress.append(lambda step: tell(Step("training on neighbouring data", step.done, step.total)))
        if verbose:
            report_progress.append(stack.enter_context(_ProgressBar(total)))
        for result in run(job, iter(schedule)):
            schedule.learn(result)
            samples.add(result)
            for callback in report_progress:
                callback(Progress(samples.trainings, total))

    smallest = min(size for tally in samples.tallies for size in tally.sizes.values())
    if smallest < needed:
        raise _too_few(needed, smallest, len(pairs), f"max_minutes={max_minutes}")
    levels = samples.levels(1 - confidence, look=True)
    findings = [
        _finding(pair, [projection_name(v) for v in view], tally, level, claim, confidence)
        for pair, view, tally, level in zip(pairs, views, samples.tallies, levels, strict=True)
    ]
    subject = identity or (train if isinstance(train, str) else projection_name(train))
    return AuditReport(subject, claim, findings, trainings=samples.trainings)


def _check_pairs(
    pairs: Sequence[NeighbourPair], claim: Claim, projections: Sequence[Project] | None
) -> list[Sequence[Project]]:
    """The projections of every pair, after a check that the pairs can test the claim at all."""
    if not pairs:
        raise AuditError("there are no pairs of data sets to audit with")
    repeated = [name for name, count in Counter(pair.name for pair in pairs).items() if count > 1]
    if repeated:
        raise AuditError(f"pair names must differ; {', '.join(repeated)} came more than once")
    for pair in pairs:
        if not pair.fits(claim.relation):
            raise AuditError(
                f"the pair {pair.name} consists of {pair.relation} neighbours, but the claim is for {claim.relation}"
            )
    views = [tuple(pair.projections if projections is None else projections) for pair in pairs]
    for pair, view in zip(pairs, views, strict=True):
        if not view:
            raise AuditError(f"there is no projection for the pair {pair.name}")
    return list(views)


def _trainings_per_cell(n_pairs: int, needed: int, max_trainings: int | None, max_minutes: float | None) -> int | None:
    """How often to train on each side for each half; None for as often as the minutes allow."""
    if max_trainings is None:
        return None if max_minutes is not None else max(8 * needed, 1000)
    per_cell = max_trainings // (4 * n_pairs)
    if per_cell < needed:
        raise _too_few(needed, per_cell, n_pairs, f"max_trainings={max_trainings}")
    return per_cell


def _too_few(needed: int, got: int, n_pairs: int, limit: str) -> AuditError:
    return AuditError(
        f"too few trainings to conclude anything: with {limit} there are {got} per data set and half, and with fewer "
        f"than {needed} even a perfect distinguisher could not reach the claim. Allow at least "
        f"max_trainings={4 * needed * n_pairs}, audit fewer pairs, or ask for less confidence"
    )


class _Samples:
    """The tallies of all pairs, with their store if there is one."""

    def __init__(
        self,
        pairs: Sequence[NeighbourPair],
        views: Sequence[Sequence[Project]],
        store: OutcomeStore | None,
        identity: str | None,
        settings: Mapping[str, Any] | None,
    ) -> None:
        self._store = store
        self._keys = ["" for _ in pairs]
        self._tests = [len(pairs) * len(view) * len(_DIRECTIONS) for view in views]
        self.tallies = [Tally.empty(len(view)) for view in views]
        if store is not None:
            self._keys = [
                fingerprint(
                    identity,
                    encode(dict(settings or {})),
                    encode([tuple(pair.D), tuple(pair.D_prime)]),
                    [projection_name(projection) for projection in view],
                )
                for pair, view in zip(pairs, views, strict=True)
            ]
            self.tallies = [store.load(key, len(view)) for key, view in zip(self._keys, views, strict=True)]

    @property
    def trainings(self) -> int:
        return sum(tally.trainings for tally in self.tallies)

    def levels(self, error: float, *, look: bool = False) -> list[float]:
        """Error probability of one bound of each pair: divided among all tests, and halved at each look with a store.

        ``look`` records that the bound is about to be seen. Looking at the same trainings again does not count.
        """
        levels = []
        for key, tally, tests in zip(self._keys, self.tallies, self._tests, strict=True):
            if self._store is None:
                levels.append(error / tests)
                continue
            earlier = {trainings for trainings in tally.looks if not look or trainings < tally.trainings}
            levels.append(error / tests / 2 ** (len(earlier) + 1))
            if look and tally.trainings not in tally.looks:
                self._store.look(key, tally.trainings)
        return levels

    def add(self, result: ChunkResult) -> None:
        chunk = result.chunk
        tally = self.tallies[chunk.pair]
        repeats = [fingerprint(chunk.side, mark) for mark in _marks(result.rows)]
        if tally.repeats.intersection(repeats):
            raise AuditError(
                "the outcomes of one batch of trainings repeat those of another, in the same order: the noise starts "
                "over. Each training must draw fresh noise; do not seed it, and do not carry a generator into "
                "processes (or use n_jobs=1)"
            )
        counts = [Counter(column) for column in zip(*result.rows, strict=True)]
        tally.add(chunk.side, chunk.half, chunk.size, counts, repeats)
        if self._store is not None:
            self._store.add(self._keys[chunk.pair], chunk.side, chunk.half, chunk.size, counts, repeats)


def _marks(rows: list[list[str]]) -> Iterator[str]:
    """Fingerprints of the beginnings of a sequence of outcomes that are too varied to occur twice by chance."""
    for length in (64, 256, 1024):
        if length > len(rows):
            return
        beginning = ["\n".join(row) for row in rows[:length]]
        agreement = sum((count / length) ** 2 for count in Counter(beginning).values())
        bits = -length * log2(agreement)
        if bits >= _BITS_BEYOND_CHANCE:
            yield fingerprint(length, beginning)


class _Schedule:
    """Hands out chunks so that all cells of all pairs grow evenly, until the trainings or the minutes are used up."""

    def __init__(self, tallies: Sequence[Tally], per_cell: int | None, workers: int, max_minutes: float | None) -> None:
        self._handed_out = [dict(tally.sizes) for tally in tallies]
        self._per_cell = per_cell
        self._workers = workers
        self._deadline = None if max_minutes is None else monotonic() + 60 * max_minutes
        self._size = _FIRST_CHUNK

    def learn(self, result: ChunkResult) -> None:
        """Fit the size of the chunks to the speed of the trainings."""
        per_second = result.chunk.size / max(result.seconds, 1e-6)
        self._size = int(min(max(per_second * _CHUNK_SECONDS, _FIRST_CHUNK / 8), _LARGEST_CHUNK))

    def __iter__(self) -> Iterator[Chunk]:
        while True:
            before = sum(sum(sizes.values()) for sizes in self._handed_out)
            for pair, sizes in enumerate(self._handed_out):
                for side, half in SIDES_AND_HALVES:
                    # As many chunks in a row as there are workers, to detect workers that draw the same noise.
                    for _ in range(self._workers):
                        if self._deadline is not None and monotonic() > self._deadline:
                            return
                        size = self._size
                        if self._per_cell is not None:
                            size = min(size, self._per_cell - sizes[side, half])
                        if size > 0:
                            sizes[side, half] += size
                            yield Chunk(pair, side, half, size)
            if sum(sum(sizes.values()) for sizes in self._handed_out) == before:
                return


class _ProgressBar(AbstractContextManager[Callable[[Progress], None]]):
    """A bar of trainings on the terminal."""

    def __init__(self, total: int | None) -> None:
        from rich.progress import Progress as Bar

        self._bar = Bar()
        self._task = self._bar.add_task("trainings", total=total)

    def __enter__(self) -> Callable[[Progress], None]:
        self._bar.start()
        return partial(_advance, self._bar, self._task)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _advance(bar: Any, task: Any, progress: Progress) -> None:
    bar.update(task, completed=progress.done)


def _finding(
    pair: NeighbourPair, views: Sequence[str], tally: Tally, level: float, claim: Claim, confidence: float
) -> Finding:
    """The best bound over projections and directions; the level already accounts for trying them all."""
    findings = []
    for place, view in enumerate(views):
        for likely, unlikely, direction in _DIRECTIONS:
            event = choose_event(
                tally.counts[likely, 0][place], tally.counts[unlikely, 0][place], delta=claim.delta, level=level
            )
            hits = event.hits(tally.counts[likely, 1][place])
            other_hits = event.hits(tally.counts[unlikely, 1][place])
            trials, other_trials = tally.sizes[likely, 1], tally.sizes[unlikely, 1]
            bound = epsilon_lower_bound(hits, trials, other_hits, other_trials, delta=claim.delta, level=level)
            findings.append(
                Finding(
                    name=pair.name,
                    flaw=pair.flaw,
                    kind="statistical",
                    epsilon=bound,
                    refuted=bound > claim.epsilon,
                    event=str(event),
                    projection=view,
                    direction=direction,
                    confidence=confidence,
                    hits=hits,
                    trials=trials,
                    other_hits=other_hits,
                    other_trials=other_trials,
                )
            )
    return max(findings, key=lambda finding: finding.epsilon)
