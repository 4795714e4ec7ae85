"""Every method on every page, scored in the same way, in a run that can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from drmamba.data.dibco import Pair, find_pairs, match, years
from drmamba.data.layout import entries
from drmamba.errors import DataError, DRMambaError, MetricError
from drmamba.experiments.benchmark.method_process import MethodProcess
from drmamba.experiments.benchmark.methods import Method, Predictions
from drmamba.experiments.report import plain
from drmamba.images import read_ink
from drmamba.metrics import VERSION, Scores, Weights, score, weight_maps

RESULTS = "results.jsonl"  # file with one line for each row of the table
PAGES = "pages"  # folder of the binarized pages


@dataclass(frozen=True)
class Row:
    """One method on one page: its scores and cost, or the reason why there are none."""

    method: str
    year: str
    page: str
    scores: Scores | None = None
    error: str = ""
    seconds: float | None = None
    pixels: int | None = None
    memory: int | None = None  # bytes, the largest amount that the method's process has held

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        values: dict[str, Any] = plain(asdict(self))
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Read a row back."""
        kept = {f.name: values[f.name] for f in fields(cls)}
        if kept["scores"] is not None:
            scores: dict[str, Any] = {
                k: tuple(v) if k == "notes" else float(v) for k, v in kept["scores"].items()
            }
            kept["scores"] = Scores(**scores)
        return cls(**kept)


def choose_pairs(root: Path, wanted: Sequence[str] = ()) -> tuple[list[Pair], list[str]]:
    """Return the pairs of the wanted years (of all years if none is named), and the files without a partner."""
    if not root.is_dir():
        find_pairs(root)  # This raises an error that says what a data root is.
    pairs, problems = match(entries(root))
    if not pairs:
        find_pairs(root)
    known = years(pairs)
    for year in wanted:
        if year not in known:
            raise DataError(f"there is no year {year} in {root}; there are {', '.join(known)}")
    return [pair for pair in pairs if not wanted or pair.year in wanted], problems


class Benchmark:
    """A run in a folder; results that are there already, under the same conditions, are not computed again."""

    def __init__(self, methods: Sequence[Method], pairs: Sequence[Pair], folder: Path, protocol: str) -> None:
        self.methods, self.pairs, self.folder, self.protocol = list(methods), list(pairs), folder, protocol
        self._predictions = {
            m.name: Predictions(Path(m.source), self.pairs) for m in methods if m.kind == "folder"
        }
        self._done = self._load()

    @property
    def total(self) -> int:
        """Return the number of rows of the full table."""
        return len(self.methods) * len(self.pairs)

    @property
    def done(self) -> int:
        """Return the number of rows that an earlier run left."""
        return sum(self._key(m, p) in self._done for m in self.methods for p in self.pairs)

    def run(self) -> Iterator[Row]:
        """Yield every row of the table, page by page.

        A failure is a row with an error, and the next run tries it again.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            log = stack.enter_context((self.folder / RESULTS).open("a", encoding="utf-8"))
            log.write("\n" if log.tell() else "")  # The next row must not join a line that a crash cut off.
            processes = {
                m.name: stack.enter_context(MethodProcess(m.kind, m.source, self.protocol))
                for m in self.methods
                if m.kind != "folder"
            }
            for pair in self.pairs:
                truth = GroundTruth(pair)
                for method in self.methods:
                    key = self._key(method, pair)
                    row = self._done.get(key)
                    if row is None:
                        row = self._measure(method, pair, truth, processes.get(method.name))
                        log.write(json.dumps({"key": key, **row.to_dict()}) + "\n")
                        log.flush()
                    yield row

    def _measure(self, method: Method, pair: Pair, truth: GroundTruth, process: MethodProcess | None) -> Row:
        place: dict[str, Any] = {"method": method.name, "year": pair.year, "page": pair.name}
        cost: dict[str, Any] = {}
        try:
            if process is None:
                path = self._predictions[method.name].find(pair)
            else:
                path = self.folder / PAGES / method.name / pair.year / f"{pair.name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                cost = asdict(process.binarize(pair.image, path))
            return Row(**place, **cost, scores=truth.score(path))
        except (DRMambaError, OSError, MemoryError) as error:
            return Row(**place, **cost, error=str(error) or type(error).__name__)

    def _key(self, method: Method, pair: Pair) -> str:
        """Return a hash of everything that decides a row."""
        files = [pair.image, pair.truth]
        if method.kind == "folder":
            with suppress(DataError):
                files.append(self._predictions[method.name].find(pair))
        stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        facts = [method.name, method.kind, method.identity, pair.label, stats, VERSION]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def _load(self) -> dict[str, Row]:
        """Return the rows without an error that an earlier run left; skip a line that a crash cut off."""
        rows: dict[str, Row] = {}
        path = self.folder / RESULTS
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            try:
                values = json.loads(line)
                row = Row.from_dict(values)
                if row.scores is not None:
                    rows[values["key"]] = row
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return rows


class GroundTruth:
    """A page's ground truth; it is read and weighted when the first method needs it, and then kept."""

    def __init__(self, pair: Pair) -> None:
        self._path = pair.truth
        self._weights: Weights | None = None

    def score(self, prediction: Path) -> Scores:
        """Return the scores of a binarized page."""
        if self._weights is None:
            self._ink = read_ink(self._path)
            self._weights = weight_maps(self._ink)
        found = read_ink(prediction)
        if found.shape != self._ink.shape:
            sizes = [f"{page.shape[1]} x {page.shape[0]}" for page in (found, self._ink)]
            raise MetricError(f"{prediction} is {sizes[0]} pixels, {self._path} {sizes[1]}; sizes must agree")
        return score(found, self._ink, self._weights)
