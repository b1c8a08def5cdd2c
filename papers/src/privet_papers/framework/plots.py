"""One look for every figure: readable in print, safe for colour-blind readers, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from privet.writing import replace_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

# Okabe and Ito's palette, the darkest first; told apart under the common kinds of colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@contextmanager
def common_style() -> Iterator[None]:
    """Draw and save figures in the common style; nothing of it stays behind."""
    import matplotlib as mpl
    from matplotlib.rcsetup import cycler

    settings: dict[RcKeyType, Any] = {
        "axes.grid": True,
        "axes.prop_cycle": cycler(color=COLOURS) + cycler(marker=MARKERS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": "medium",
        "figure.constrained_layout.use": True,
        "figure.figsize": (5.5, 3.6),
        "font.family": "DejaVu Sans",  # ships with matplotlib, so that no machine substitutes another
        "font.size": 9.0,
        "grid.alpha": 0.3,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "lines.markersize": 4.0,
        "svg.fonttype": "path",
        "svg.hashsalt": "privet",
    }
    with mpl.rc_context():
        mpl.rcdefaults()  # a user's own matplotlibrc must not change the figures
        mpl.rcParams.update(settings)
        yield


def save_svg(figure: Figure, path: Path) -> None:
    """Write a figure without date or version, so that the same figure is the same file."""
    replace_figure(path, figure, format="svg", metadata={"Date": None, "Creator": "privet"})
