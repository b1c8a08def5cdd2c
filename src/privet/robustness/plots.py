"""Pictures of certificates: one learner with the paper's formula beside, or several learners at equal epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privet.robustness.table import Certificates

# Okabe and Ito's palette, which remains distinct for colour-blind readers; markers repeat what the colours say.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def onto(target: str | Path | Axes | None, draw: Callable[[Axes], None]) -> Axes:
    """Draw on the given axes or on new ones; write the picture to a file if `target` is a path."""
    if target is not None and not isinstance(target, (str, Path)):
        draw(target)
        return target
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 3.8))
    draw(axes)
    if target is not None:
        replace_figure(target, figure, bbox_inches="tight")
        pyplot.close(figure)
    return axes


def draw_certificates(axes: Axes, table: Certificates) -> None:
    """Draw one table: the certificate, and the paper's formula beside it."""
    shares = [100 * row.n_poisoned / table.n_records for row in table.rows]
    axes.plot(shares, [row.guaranteed for row in table.rows], "o-", color=_COLOURS[0], label="certificate")
    axes.plot(shares, [row.paper for row in table.rows], "s--", color=_COLOURS[1], label="paper's formula (estimate)")
    axes.axhline(table.clean, color="#000000", linewidth=0.8, label="clean")
    axes.set_title(f"{table.subject}: {table.guarantee}", loc="left")
    _label(axes, table)


def compare(tables: Sequence[Certificates], target: str | Path | Axes | None = None) -> Axes:
    """Draw the certificates of several learners in one picture.

    Parameters
    ----------
    tables : sequence of Certificates
        Preferably at equal epsilon and on the same data.
    target : str, Path or matplotlib Axes, optional
        A file to write, or the axes to draw on; new axes if omitted.

    Notes
    -----
    Each table holds with its own confidence; for all of them together, divide each one's level by their number.
    """

    def draw(axes: Axes) -> None:
        for place, table in enumerate(tables):
            axes.plot(
                [100 * row.n_poisoned / table.n_records for row in table.rows],
                [row.guaranteed for row in table.rows],
                marker=_MARKERS[place % len(_MARKERS)],
                color=_COLOURS[place % len(_COLOURS)],
                label=f"{table.subject} (clean {table.clean:.3f})",
            )
        _label(axes, tables[0])

    return onto(target, draw)


def _label(axes: Axes, table: Certificates) -> None:
    axes.set_xlabel(f"poisoned {table.guarantee.noun}s (% of the training set)")
    axes.set_ylabel(f"guaranteed {table.score}")
    axes.set_ylim(0, 1)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
