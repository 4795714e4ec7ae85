"""The log of a run: a CSV row for every update, a plot of them, and a progress bar while it runs."""

from __future__ import annotations

import csv
import io
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

from drmamba.config import LOSS_TERMS
from drmamba.errors import TrainingError
from drmamba.files import write_atomic
from drmamba.training.learner import UpdateRecord

COLUMNS = ("step", "seconds", "progress", "rate", "loss", *LOSS_TERMS, "norm", "validation_fm")


class TrainingLog:
    """The CSV file; rows after `step` are dropped, because a resumed run writes them again."""

    def __init__(self, path: Path, step: int = 0) -> None:
        kept = [row for row in read_log(path) if int(row["step"]) <= step] if step and path.is_file() else []
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(kept)
        self.path = path
        self._file = path.open("a", newline="")
        self._writer = csv.DictWriter(self._file, COLUMNS)

    def write(self, step: int, seconds: float, progress: float, record: UpdateRecord) -> None:
        """Write the row of an update."""
        numbers = {"rate": record.rate, "loss": record.loss, **record.parts, "norm": record.norm}
        self._row({"step": step, "seconds": f"{seconds:.2f}", "progress": f"{progress:.5f}"}, numbers)

    def validated(self, step: int, seconds: float, progress: float, fm: float) -> None:
        """Write the row of a validation."""
        self._row(
            {"step": step, "seconds": f"{seconds:.2f}", "progress": f"{progress:.5f}"}, {"validation_fm": fm}
        )

    def _row(self, place: dict[str, object], numbers: dict[str, float]) -> None:
        try:
            self._writer.writerow({**place, **{name: f"{value:.6g}" for name, value in numbers.items()}})
            self._file.flush()
        except OSError as error:
            raise TrainingError(
                f"cannot write {self.path}: {error.strerror}; free some space and resume the run"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> list[dict[str, str]]:
    """The rows of a log; lines that a power cut has left incomplete or filled with zeros are dropped."""
    text = path.read_text(errors="replace")
    whole = [line for line in text.splitlines() if line.isprintable()]
    rows = list(csv.DictReader(whole))
    return [row for row in rows if None not in row.values() and row.get("step", "").isdecimal()]


def draw_curve(log: Path, picture: Path) -> None:
    """Plot the smoothed loss terms and the validation FM over the updates, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = read_log(log)
    updates = [row for row in rows if row["loss"]]
    if not updates:
        return
    figure = Figure(figsize=(9, 5), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    steps = [int(row["step"]) for row in updates]
    for name in ("loss", *LOSS_TERMS):
        values = [float(row[name]) for row in updates if row[name]]
        if len(values) == len(steps):
            left.plot(steps, smooth(values), label=name, linewidth=2.2 if name == "loss" else 1.0)
    left.set(xlabel="update", ylabel="loss (mean over 5 % of the updates so far)", yscale="log")
    left.legend(ncols=4, fontsize=8)
    checked = [row for row in rows if row["validation_fm"]]
    if checked:
        right = left.twinx()
        fm = [float(row["validation_fm"]) for row in checked]
        right.plot([int(row["step"]) for row in checked], fm, "ko--", linewidth=1)
        right.set(ylabel="validation FM (black)")
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    write_atomic(picture, data.getvalue())


def smooth(values: Sequence[float]) -> list[float]:
    """The trailing mean of each value, over a twentieth of the values so far."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return [
        (sums[i + 1] - sums[low]) / (i + 1 - low) for i in range(len(values)) for low in [max(0, i - i // 20)]
    ]


class ProgressBar:
    """The progress of a run on stderr: a bar on a terminal, otherwise a line every `pause` seconds; or nothing."""

    def __init__(self, shown: bool, done: float = 0.0, pause: float = 30.0) -> None:
        self.shown, self.pause = shown, pause
        self._loss, self._shown_at = 0.0, -math.inf
        self._bar: tqdm[Any] | None = None
        if shown and sys.stderr.isatty():
            layout = "{percentage:5.1f} %|{bar:30}| {desc}"
            self._bar = tqdm(total=1.0, initial=done, bar_format=layout, mininterval=0.5)

    def show(self, step: int, progress: float, loss: float, fm: float | None, left: float | None) -> None:
        """Show the state after an update."""
        self._loss = 0.95 * self._loss + 0.05 * loss if self._loss else loss
        known = f", validation FM {fm:.2f}" if fm is not None else ""
        time_left = f", {int(left) // 60}:{int(left) % 60:02d} left" if left is not None else ""
        words = f"update {step}, loss {self._loss:.4f}{known}{time_left}"
        if self._bar is not None:
            self._bar.set_description_str(words, refresh=False)
            self._bar.update(progress - self._bar.n)
        elif time.monotonic() - self._shown_at >= self.pause:
            self._shown_at = time.monotonic()
            self.message(f"{100 * progress:5.1f} %  {words}")

    def message(self, text: str) -> None:
        """Print a message on a line of its own."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        elif self.shown:
            print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
