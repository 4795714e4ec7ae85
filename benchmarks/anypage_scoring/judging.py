"""Pages judged one by one. What methods found and its scores are kept, so that a second run is quick."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from anypage_pages import Mask, Page, generator_digest, make_page
from anypage_scoring.characters import character_errors
from anypage_scoring.methods import Method, make_method
from anypage_scoring.scores import score_page

Row = dict[str, Any]  # kind, number, method, the scores, and characters: category -> [wrong, all]


@dataclass(frozen=True)
class Judging:
    """What to judge and where to keep results; it can be sent to other processes."""

    methods: tuple[str, ...]
    model: str
    keep: str | None
    read: bool  # whether an OCR program reads the pages
    cache: Path | None
    save: Path | None


class Judge:
    """Judges pages with methods that are made once."""

    def __init__(self, judging: Judging) -> None:
        self.judging = judging
        self.methods = [make_method(name, model=judging.model, keep=judging.keep) for name in judging.methods]
        self._pages, self._scoring = generator_digest(), scoring_digest()

    def judge(self, kind: str, number: int) -> list[Row]:
        """The results of all methods on one page; the page is only made if a result is missing."""
        rows: list[Row] = []
        page: Page | None = None
        for method in self.methods:
            path = self._path(".json", method, kind, number, self._scoring, self.judging.read)
            if path is not None and path.is_file() and self.judging.save is None:
                rows.append(json.loads(path.read_text()))
                continue
            page = page or make_page(kind, number)
            row = self._judged(method, page)
            rows.append(row)
            if path is not None:
                keep_file(path, json.dumps(row).encode())
        return rows

    def _judged(self, method: Method, page: Page) -> Row:
        found = self._found(method, page)
        if self.judging.save is not None:
            save_page(page, method.name, found, self.judging.save)
        characters = character_errors(found, page) if self.judging.read else {}
        facts = {"kind": page.kind, "number": page.number, "method": method.name}
        return {**facts, **asdict(score_page(found, page)), "characters": characters}

    def _found(self, method: Method, page: Page) -> Mask:
        """The ink that a method finds; it is kept, because a change of the scores does not change it."""
        path = self._path(".png", method, page.kind, page.number)
        if path is not None and path.is_file():
            return ~np.asarray(Image.open(path), np.bool_)
        found = method.find_ink(page)
        if path is not None:
            file = io.BytesIO()
            Image.fromarray(~found).save(file, "PNG")
            keep_file(path, file.getvalue())
        return found

    def _path(self, suffix: str, method: Method, *facts: Any) -> Path | None:
        if self.judging.cache is None:
            return None
        everything = json.dumps([self._pages, method.identity, *facts], sort_keys=True, default=str)
        name = hashlib.sha256(everything.encode()).hexdigest()
        return self.judging.cache / name[:2] / f"{name}{suffix}"


def keep_file(path: Path, content: bytes) -> None:
    """Write a file of the cache whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


def scoring_digest() -> str:
    """A digest of the code that scores: scores of another version are not used."""
    folder = Path(__file__).parent
    names = [folder / "scores.py", folder / "characters.py", folder.parent / "reading.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in names)).hexdigest()


def save_page(page: Page, method: str, found: Mask, folder: Path) -> None:
    """Write the scan, the truth in colours of its categories, and what a method found."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / f"{page.name}-categories.png").is_file():
        Image.fromarray(page.scan).save(folder / f"{page.name}-scan.png")
        Image.fromarray(coloured_truth(page)).save(folder / f"{page.name}-categories.png")
    Image.fromarray(np.where(found, 0, 255).astype(np.uint8)).save(folder / f"{page.name}-{method}.png")


def coloured_truth(page: Page) -> np.ndarray[Any, Any]:
    """Text black, small print blue, headlines red, rules green, drawings orange, ignored areas grey."""
    colours = {
        "text": (0, 0, 0),
        "small print": (0, 0, 200),
        "headline": (200, 0, 0),
        "rule": (0, 140, 0),
        "drawing": (210, 120, 0),
    }
    picture = np.full(page.scan.shape, 255, np.uint8)
    picture[page.tone] = 215
    for category, mask in page.masks.items():
        picture[mask] = colours[category]
    return picture


_judge: Judge | None = None


def _start(judging: Judging) -> None:
    global _judge
    _judge = Judge(judging)


def _judge_one(page: tuple[str, int]) -> list[Row]:
    assert _judge is not None
    return _judge.judge(*page)


def judge_pages(judging: Judging, pages: Sequence[tuple[str, int]], workers: int) -> Iterator[list[Row]]:
    """The results page by page, in the order asked, from as many processes as wanted."""
    if workers <= 1:
        judge = Judge(judging)
        yield from (judge.judge(kind, number) for kind, number in pages)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, (judging,)) as pool:
        yield from pool.map(_judge_one, pages)
