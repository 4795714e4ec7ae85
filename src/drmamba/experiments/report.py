"""Tables, JSON, CSV and plots of scores, for every command that reports results."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from drmamba import __version__
from drmamba.config import RunConfig
from drmamba.files import write_atomic
from drmamba.metrics import DEFINITIONS, MEANS, VERSION

HEADINGS = {
    "fm": "FM", "pfm": "p-FM", "psnr": "PSNR", "drd": "DRD", "precision": "P", "recall": "R",
    "pseudo_precision": "P_ps", "pseudo_recall": "R_ps", "nrm": "NRM", "skeleton_fm": "FM_skel",
}  # fmt: skip
CONTEST = ("fm", "pfm", "psnr", "drd")  # measures that the contests rank by


def stamp() -> dict[str, Any]:
    """Return what every report states: the definitions of its numbers, their version, and the program's."""
    return {"drmamba": __version__, "metrics_version": VERSION, "definitions": DEFINITIONS, "means": MEANS}


def machine() -> dict[str, Any]:
    """Return a description of this machine, on which the times in a report were measured."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def number(value: float | None, digits: int = 2) -> str:
    """Return a score as text, with a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if math.isfinite(value) else str(value)


def plain(value: Any) -> Any:
    """Return values that strict JSON can hold; infinity becomes the word "inf", which float() reads back."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def settings(config: RunConfig) -> dict[str, Any]:
    """Return a run's settings for a report; only the last part of each path on this machine is stated."""

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: named(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [named(item) for item in value]
        return Path(value).name if isinstance(value, str) else value

    found: dict[str, Any] = named(config.to_dict())
    return found


def as_json(report: Mapping[str, Any]) -> str:
    """Return the report as indented, strict JSON."""
    return json.dumps(plain(report), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return comma-separated lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def as_text(header: Sequence[str], rows: Sequence[Sequence[str]], *, last: int = 0) -> str:
    """Return a table for a terminal; the first column is aligned left, the others right.

    A rule separates the last rows, as many as `last` says.
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    body = [line(row) for row in rows]
    if last:
        body.insert(len(body) - last, rule)
    return "\n".join([line(header), rule, *body])


def as_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in [list(header), *cells]]
    lines.insert(1, "|---" + "|---:" * (len(header) - 1) + "|")
    return "\n".join(lines)


def write_text(path: Path, text: str) -> None:
    """Write a report atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())


def plot_years(
    path: Path, years: Sequence[str], lines: Mapping[str, Mapping[str, Sequence[float | None]]], *, title: str
) -> None:
    """Draw scores by year: one panel per measure and one line per method.

    lines: measure -> method -> one value per year.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [year.replace(" (", "\n(") for year in years]
    turned: dict[str, Any] = {"rotation": 25, "ha": "right"} if max(map(len, names), default=0) > 16 else {}
    columns = 2 if len(lines) > 1 else 1
    rows = math.ceil(len(lines) / columns)
    figure = Figure(figsize=(6.2 * columns, 3.4 * rows + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axis, (measure, methods) in zip(axes, lines.items(), strict=False):
        for name, values in methods.items():
            shown = [math.nan if v is None or not math.isfinite(v) else v for v in values]
            axis.plot(range(len(years)), shown, marker="o", markersize=3.5, linewidth=1.2, label=name)
        better = "lower is better" if measure in ("drd", "nrm") else "higher is better"
        axis.set_title(f"{HEADINGS[measure]} ({better})", fontsize=10)
        axis.set_xticks(range(len(years)), names, fontsize=8, **turned)
        axis.grid(alpha=0.3)
    for axis in axes[len(lines) :]:
        axis.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, max(1, len(labels))), fontsize=8)
    figure.suptitle(title, fontsize=11)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, picture.getvalue())
