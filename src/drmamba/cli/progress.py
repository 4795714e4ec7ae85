"""The progress of `drmamba binarize` on standard error."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from drmamba.errors import one_line

if TYPE_CHECKING:
    from drmamba.inference.batch import Batch
    from drmamba.inference.records import PageRecord
    from drmamba.scale.ray_batch import RayBatch

NAMED = 10  # flagged pages that the summary names
SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal for a bar


class Progress:
    """Counts pages and shows how far a run is: a bar on a terminal, elsewhere a line from time to time."""

    def __init__(self, files: int, batch: Batch | RayBatch) -> None:
        from tqdm import tqdm

        self.batch = batch
        self.files, self.started, self.shown = files, time.monotonic(), time.monotonic()
        self.count: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.doubtful: list[str] = []
        self.flagged = self.finished = 0
        self.done = 0.0  # files, with the parts of those in progress
        self.megapixels = 0.0
        self.bar = tqdm(total=files, unit="file", disable=not sys.stderr.isatty(), file=sys.stderr)

    def say(self, words: str) -> None:
        """Print a line above the bar."""
        self.bar.write(f"drmamba: {one_line(words)}", file=sys.stderr)

    def add(self, record: PageRecord) -> None:
        """Count a page, and print its error if it has one."""
        from drmamba.inference.quality import UNREMARKABLE

        self.count[record.status] += 1
        self.megapixels += record.megapixels
        self.flags.update(record.flags)
        if doubts := [flag for flag in record.flags if flag not in UNREMARKABLE]:
            self.flagged += 1
            if self.flagged <= NAMED:
                page = f", page {record.page}" if record.pages > 1 else ""
                self.doubtful.append(f"{record.input}{page}: {', '.join(doubts)}")
        if record.error:
            self.say(record.error)
        if record.last:
            self.finished += 1
        self.tick()

    def tick(self) -> None:
        """Show how far the run is; this is called in the middle of long pages, too."""
        words = f"{sum(self.count.values())} pages, {self.rate():.2f} MP/s"
        # A file may count as finished and as in progress for a moment, and a bar must not go back.
        self.done = max(self.done, min(self.finished + self.batch.files_in_progress, self.files))
        if not self.bar.disable:
            self.bar.n = round(self.done, 2)
            self.bar.set_postfix_str(words)
            return
        now = time.monotonic()
        if now - self.shown < SECONDS_BETWEEN_LINES:
            return
        self.shown = now
        left = (now - self.started) * (self.files - self.done) / max(1e-9, self.done)
        time_left = f", {_duration(left)} left" if self.done else ""
        share = f"{self.finished} of {self.files} files ({100 * self.done / self.files:.0f} %)"
        click.echo(f"drmamba: {share}, {words}{time_left}", err=True)

    def rate(self) -> float:
        """Return megapixels per second; before the first page is done, those that the network has seen."""
        done = self.megapixels or self.batch.megapixels
        return done / max(1e-9, time.monotonic() - self.started)

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()

    def summary(self) -> None:
        """Print what was done, and which pages to look at."""
        seconds = time.monotonic() - self.started
        parts = [f"{self.count[name]} {name}" for name in ("done", "skipped", "failed")]
        words = ", ".join([*parts, f"{self.flagged} flagged"])
        click.echo(
            f"drmamba: {words}; {self.megapixels:.1f} MP in {seconds:.1f} s, {self.rate():.2f} MP/s", err=True
        )
        for line in self.doubtful:
            click.echo(f"drmamba: look at {one_line(line)}", err=True)
        if self.flagged > NAMED:
            click.echo(f"drmamba: and {self.flagged - NAMED} more; --report FILE names them all", err=True)
        if self.flags:
            listed = ", ".join(f"{flag} {number}" for flag, number in self.flags.most_common())
            click.echo(f"drmamba: flags: {listed}", err=True)


def _duration(seconds: float) -> str:
    """Return seconds as a person would say them."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
