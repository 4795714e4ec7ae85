"""The witness: how often it sees lost content and kept dirt, and how often it sees them where they are not.

    python benchmarks/witness.py                      # made pages: the network's results and spoiled truths
    python benchmarks/witness.py --data ROOT          # the pages of contests as well
    python benchmarks/witness.py --json FILE          # every case as JSON

It needs `pip install "drmamba[anypage]"` for the made pages. Each made page gives several cases: what the network
finds; the truth; the truth without some of its lines or letters; and the truth with dirt. A case has lost content if
more than 2 % of the true ink is further than two pixels from ink that was found, and has not if at most 0.5 % is;
what lies between counts for neither. It has dirt if more than 5 % of the found ink is further than three pixels from
true ink, and has not below 1 %. On contest pages only the share of false alarms counts: pages with an FM above 90 and
no lost content that are flagged. The last table is coverage and risk: if the pages with the highest `doubt` are
looked at by a person, how many of the others have lost content.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from anypage_pages import make_page, require_fonts
from anypage_pages.page import Mask, Page
from drmamba import Binarizer
from drmamba.config import InferenceConfig
from drmamba.data.dibco import find_pairs
from drmamba.errors import DRMambaError
from drmamba.images import ArraySource, Bitmap, read_ink, read_rgb, write_ink
from drmamba.inference.analysis import analyse_page
from drmamba.inference.assessment import Draft, assess
from drmamba.inference.view import PageView
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure

KINDS = (
    "small print",  # a masthead over small print
    "table",
    "form",
    "line drawing",
    "engraving",
    "photograph with caption",
    "reversed band",
    "two directions",
    "pencil",
    "distant bleed-through",
    "photocopy",
    "half stain",
)
FIRST = 100  # number of the first page of each kind; development looked at pages with smaller numbers
LOST, NOT_LOST = 0.02, 0.005  # of the true ink
DIRTY, NOT_DIRTY = 0.05, 0.01  # of the found ink
COVERAGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
GOAL = 1 / 200  # of the pages that nobody looks at


@dataclass(frozen=True)
class Case:
    """A result, what is true about it and what the witness says."""

    source: str  # contest or made
    page: str
    result: str
    fm: float
    lost: float  # share of the true ink
    dirt: float  # share of the found ink
    said_lost: float
    said_dirt: float
    doubt: float  # the score by which pages are sorted
    flags: tuple[str, ...]
    seconds: float  # that the witness took

    @property
    def flagged(self) -> bool:
        """Whether the witness says that content is lost."""
        return "lost_content" in self.flags


class Judge:
    """Judges results of one page."""

    def __init__(self, source: str, page: str, scan: Any, truth: Mask, tone: Mask) -> None:
        self.source, self.page, self.tone = source, page, tone
        self.rows, self.truth = ArraySource(scan), truth & ~tone
        self.analysis = analyse_page(self.rows)
        self.view = PageView(inverted=self.analysis.inverted, bilevel=self.analysis.bilevel)

    def case(self, result: str, found: Mask, network: Results, doubt: float = 0.0) -> Case:
        """Return what is true about a result and what the witness says; the network may have doubts of its own."""
        draft = Draft(Bitmap.pack(found))
        started = time.process_time()
        binarizer = network.binarizer
        assessment = assess(
            binarizer, self.rows, binarizer.config, self.analysis, self.view, draft, look=False
        )
        seconds, verdict = time.process_time() - started, assessment.verdict
        found, truth = found & ~self.tone, self.truth
        lost = np.count_nonzero(truth & ~near(found, 2)) / max(1, np.count_nonzero(truth))
        dirt = np.count_nonzero(found & ~near(truth, 3)) / max(1, np.count_nonzero(found))
        said = {"lost_content": verdict.has_lost, "kept_dirt": verdict.has_dirt}
        flags = tuple(name for name, true in said.items() if true)
        fm = f_measure(count(found, truth))
        return Case(
            self.source,
            self.page,
            result,
            fm,
            lost,
            dirt,
            verdict.lost,
            verdict.dirt,
            max(doubt, verdict.lost),
            flags,
            seconds,
        )


def near(ink: Mask, reach: int) -> Mask:
    """Return the pixels in a square around ink."""
    side = 2 * reach + 1
    return np.asarray(ndimage.maximum_filter(ink, side), np.bool_)


def spoiled(page: Page, rng: np.random.Generator) -> Iterator[tuple[str, Mask]]:
    """Yield the truth of a page, and what remains of it when something went wrong."""
    truth = page.ink
    yield "truth", truth
    height, width = truth.shape
    parts, number = ndimage.label(near(truth, 1))
    for share in (0.03, 0.1, 0.4):
        less = truth.copy()
        top = int(rng.integers(0, height - 1))
        while np.count_nonzero(less) > (1 - share) * np.count_nonzero(truth):  # whole lines of the page
            less[top % height] = False
            top += 1
        yield f"without {share:.0%} in lines", less
        order = rng.permutation(number) + 1
        sizes = ndimage.sum_labels(truth, parts, order)
        gone = order[np.cumsum(sizes) <= share * np.count_nonzero(truth)]
        yield f"without {share:.0%} in letters", truth & ~np.isin(parts, gone)
    specks = rng.random((height // 3, width // 3)) < 0.02
    noise = np.kron(specks, np.ones((3, 3), np.bool_))
    dirty = truth.copy()
    dirty[: noise.shape[0], : noise.shape[1]] |= noise
    yield "with specks", dirty
    left, top = int(rng.integers(0, width * 2 // 3)), int(rng.integers(0, height * 2 // 3))
    cloud = ndimage.gaussian_filter(rng.standard_normal((height // 4, width // 4)), 12) > 0
    stain = truth.copy()
    stain[top : top + height // 4, left : left + width // 4] |= cloud[: height - top, : width - left]
    yield "with a stain", stain


class Results:
    """What the network finds; it is kept in a folder, because a change of the witness does not change it."""

    def __init__(self, binarizer: Binarizer, folder: Path | None) -> None:
        self.binarizer, self.folder = binarizer, folder

    def __call__(self, scan: Any) -> tuple[Mask, float]:
        """Return the ink of a page, and how likely something is missing."""
        if self.folder is None:
            page = self.binarizer(scan)
            return page.binary, page.quality.doubt
        facts = f"{self.binarizer.sha256} {self.binarizer.config.keep} {scan.shape}".encode()
        path = self.folder / f"{hashlib.sha256(facts + scan.tobytes()).hexdigest()}.png"
        facts_path = path.with_suffix(".json")
        if not facts_path.is_file():
            page = self.binarizer(scan)
            write_ink(path, page.binary)
            facts_path.write_text(json.dumps({"doubt": page.quality.doubt}))
        return read_ink(path), float(json.loads(facts_path.read_text())["doubt"])


def made_cases(network: Results, kinds: tuple[str, ...], pages: int) -> Iterator[Case]:
    """Yield the cases of the made pages."""
    for kind in kinds:
        for number in range(FIRST, FIRST + pages):
            page = make_page(kind, number)
            name = f"{kind} {number}"
            found, doubt = network(page.scan)
            judge = Judge("made", name, page.scan, page.ink, page.tone)
            yield judge.case("network", found, network, doubt)
            for result, ink in spoiled(page, np.random.default_rng(number)):
                yield judge.case(result, ink, network)


def contest_cases(network: Results, root: Path, years: tuple[str, ...]) -> Iterator[Case]:
    """Yield what the network finds on the pages of contests."""
    for pair in find_pairs(root):
        if not years or pair.year in years:
            scan, truth = read_rgb(pair.image), read_ink(pair.truth)
            found, doubt = network(scan)
            judge = Judge("contest", f"{pair.year}/{pair.name}", scan, truth, np.zeros_like(truth))
            yield judge.case("network", found, network, doubt)


def share(part: int, whole: int) -> float | None:
    """Return a share in per cent; None if there is nothing to share."""
    return 100 * part / whole if whole else None


def figures(cases: list[Case]) -> dict[str, Any]:
    """Return recall, precision and false alarms."""
    made = [case for case in cases if case.source == "made"]
    contest = [case for case in cases if case.source == "contest" and case.fm > 90 and case.lost <= LOST]
    lost = [case for case in made if case.lost > LOST]
    whole = [case for case in made if case.lost <= NOT_LOST]
    dirty = [case for case in made if case.dirt > DIRTY]
    clean = [case for case in made if case.dirt < NOT_DIRTY]
    alarms = sum(case.flagged for case in whole)
    seen = sum(case.flagged for case in lost)
    dirt_seen = sum("kept_dirt" in case.flags for case in dirty)
    dirt_alarms = sum("kept_dirt" in case.flags for case in clean)
    own = [case for case in lost if case.result == "network"]
    return {
        "lost_recall": share(seen, len(lost)),
        "lost_recall_network": share(sum(case.flagged for case in own), len(own)),
        "lost_precision": share(seen, seen + alarms),
        "lost_false_alarms_made": share(alarms, len(whole)),
        "lost_false_alarms_contest": share(sum(case.flagged for case in contest), len(contest)),
        "dirt_recall": share(dirt_seen, len(dirty)),
        "dirt_precision": share(dirt_seen, dirt_seen + dirt_alarms),
        "cases": {"lost": len(lost), "network_lost": len(own), "whole": len(whole), "contest": len(contest)}
        | {"dirty": len(dirty), "clean": len(clean)},
        "seconds": float(np.mean([case.seconds for case in cases])),
    }


def coverage_risk(cases: list[Case]) -> dict[str, Any]:
    """Return the share of lost content among the pages that are not looked at, for shares that are."""
    own = sorted((c for c in cases if c.result == "network"), key=lambda case: -case.doubt)
    bad = np.array([case.lost > LOST for case in own])
    left = bad[::-1].cumsum()[::-1] if len(bad) else bad  # bad pages from each place on
    risk = [float(left[n] / (len(bad) - n)) for n in range(len(bad))]
    needed = next((n / len(bad) for n, value in enumerate(risk) if value < GOAL), 1.0)
    curve = {f"{part:.0%}": risk[int(part * len(bad))] for part in COVERAGES if len(bad)}
    flagged = sum(case.flagged for case in own) / max(1, len(own))
    return {"curve": curve, "needed": needed, "flagged": flagged, "pages": len(own), "lost": int(bad.sum())}


def by_kind(cases: list[Case]) -> str:
    """Return a table of recall by the kind of page, and of pages and losses that were missed."""
    lines = ["| kind | cases with lost content | seen | whole cases | flagged |", "|---|---:|---:|---:|---:|"]
    made = [case for case in cases if case.source == "made"]
    for kind in dict.fromkeys(case.page.rpartition(" ")[0] for case in made):
        own = [case for case in made if case.page.rpartition(" ")[0] == kind]
        lost, whole = [c for c in own if c.lost > LOST], [c for c in own if c.lost <= NOT_LOST]
        cells = len(lost), sum(c.flagged for c in lost), len(whole), sum(c.flagged for c in whole)
        lines.append(f"| {kind} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="ROOT", help="A folder of contest pages.")
    parser.add_argument(
        "--years", default="", help="Years of contests, with commas between them; all if left out."
    )
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help="Kinds of made pages, with commas between them."
    )
    parser.add_argument("--pages", type=int, default=2, help="Made pages of each kind; 0 leaves them out.")
    parser.add_argument("--model", default="lite", help="A preset's name or a model file.")
    parser.add_argument(
        "--keep", choices=("text", "all"), default="text", help="What the network keeps as ink."
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="Keep what the network finds in this folder."
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write every case to this file.")
    args = parser.parse_args()
    # The witness judges what the network found at first, before anything is added.
    alone = InferenceConfig(second_look=False, restore=False, keep=args.keep)
    network = Results(Binarizer.from_pretrained(args.model, config=alone), args.cache)
    cases: list[Case] = []
    try:
        if args.pages:
            require_fonts()
            for case in made_cases(network, tuple(args.kinds.split(",")), args.pages):
                cases.append(case)
                print(
                    f"{case.page}, {case.result}: lost {case.lost:.3f}, said {case.said_lost:.3f}",
                    file=sys.stderr,
                )
        if args.data:
            years = tuple(filter(None, args.years.split(",")))
            for case in contest_cases(network, args.data, years):
                cases.append(case)
                print(f"{case.page}: FM {case.fm:.1f}, lost {case.lost:.3f}, {case.flags}", file=sys.stderr)
    except DRMambaError as error:
        sys.exit(str(error))
    found, curve = figures(cases), coverage_risk(cases)
    if args.json:
        facts = {"figures": found, "coverage_risk": curve, "cases": [asdict(case) for case in cases]}
        args.json.write_text(json.dumps(facts, indent=1) + "\n")
    print(by_kind(cases), json.dumps(found, indent=1), json.dumps(curve, indent=1), sep="\n\n")


if __name__ == "__main__":
    main()
