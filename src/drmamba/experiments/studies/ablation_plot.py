"""The plot of an ablation table: FM of every row, each seed a dot, beside the paper's."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from drmamba.files import write_atomic


def plot_table(path: Path, table: str, panels: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """Draw a panel for each set of pages, with a row for each row of the table: dots are seeds, bars their mean.

    panels: set of pages -> row -> one FM per seed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = list(next(iter(panels.values())))
    figure = Figure(figsize=(3.6 * len(panels) + 2, 0.42 * len(names) + 1.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (title, rows) in zip(axes, panels.items(), strict=True):
        for height, name in enumerate(names):
            values = [value for value in rows[name] if math.isfinite(value)]
            if values:
                axis.plot(values, [height] * len(values), "o", color="tab:blue", markersize=4, alpha=0.7)
                axis.plot([sum(values) / len(values)], [height], "|", color="black", markersize=14)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("FM", fontsize=9)
        axis.set_ylim(len(names) - 0.5, -0.5)  # the first row on top
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(names)), names, fontsize=9)
    figure.suptitle(f"Ablation: {table}", fontsize=11)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, picture.getvalue())
