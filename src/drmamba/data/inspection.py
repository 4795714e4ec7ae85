"""What must be true before a run starts: its pairs are sound, and no page that it is scored on is seen in training."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drmamba.data.check import problems_between
from drmamba.data.dibco import Pair, Split
from drmamba.data.likeness import Likeness, likeness, resembling, same_pages
from drmamba.data.paper_textures import texture_files
from drmamba.errors import DataError, ImageError
from drmamba.images import read_ink, read_rgb

SHOWN = 5  # problems or pairs that an error lists


@dataclass(frozen=True)
class Inspection:
    """The pages of a run by what they look like: those it learns from, and those it is scored on."""

    seen: tuple[Likeness, ...]
    kept_apart: tuple[Likeness, ...]

    @property
    def hashes(self) -> tuple[str, ...]:
        """The hashes of everything that the run learns from, which its model keeps."""
        return tuple(sorted({digest for page in self.seen for digest in page.hashes()}))

    def learned(self, hashes: Iterable[str]) -> list[str]:
        """Return the labels of the pages kept apart that are among the hashes of another model's pages."""
        known = [("", digest) for digest in hashes]
        return [page.label for page in self.kept_apart if resembling(page, known)]


def inspect(split: Split, textures: str | None = None) -> Inspection:
    """Check every pair as `drmamba data check` does, and compare all pages by their content.

    Copies are found if they are cropped by a few per cent, flipped, turned, scaled, compressed anew, or have another
    ground truth; textures are compared as well.
    """
    roles = [(role, pair) for role, pair in split.roles() if role != "left_out"]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda entry: _examined(entry[1]), roles))
        papers = list(threads.map(_texture, texture_files(Path(textures)))) if textures else []
    problems = [problem for problem, _ in found if problem]
    if problems:
        raise DataError(f"{_listed(problems)}; `drmamba data check` lists all problems")
    pages = {role: [page for (r, _), (_, page) in zip(roles, found, strict=True) if r == role and page]
             for role in ("train", "validation", "held_out")}  # fmt: skip
    pairs = same_pages([*pages["train"], *papers], [*pages["validation"], *pages["held_out"]])
    pairs += same_pages(pages["validation"], pages["held_out"])
    if pairs:
        listed = _listed([f"{first} and {second}" for first, second in pairs])
        raise DataError(
            f"these show the same page, and one of each two would be scored on while the other is seen: {listed}; "
            "remove one of them, because otherwise the score on unseen pages would be meaningless"
        )
    kept_apart = (*pages["validation"], *pages["held_out"])
    return Inspection((*pages["train"], *papers), kept_apart)


def _listed(items: list[str]) -> str:
    more = f" (and {len(items) - SHOWN} more)" if len(items) > SHOWN else ""
    return "; ".join(items[:SHOWN]) + more


def _examined(pair: Pair) -> tuple[str, Likeness | None]:
    """Return the first problem of a pair, or what the page looks like."""
    try:
        image, ink = read_rgb(pair.image), read_ink(pair.truth)
    except ImageError as error:
        return str(error), None
    problems = problems_between(pair, image, ink)
    return (problems[0], None) if problems else ("", likeness(pair.label, image, ink))


def _texture(path: Path) -> Likeness:
    return likeness(str(path), read_rgb(path))
