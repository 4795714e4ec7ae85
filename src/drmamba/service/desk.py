"""The pages a browser has open: seen once by the network, then turned and looked at in many ways."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.config import InferenceConfig, replace_values
from drmamba.errors import InputError
from drmamba.images import RGB, ArraySource, Bitmap, encode
from drmamba.inference.binarizer import BinarizedPage
from drmamba.inference.explain import Exploration, Map
from drmamba.inference.quality import FLAGS
from drmamba.service.app import ENDINGS, Service, result_name
from drmamba.service.problems import KNOWN, over_limit, told
from drmamba.service.schemas import MEDIA
from drmamba.service.upload import plain_name

log = logging.getLogger("drmamba.service")
LONGEST = 1600  # pixels of a picture's longer side, on the screen
THUMB = 240
PER_PIXEL = 24  # bytes that an open page takes beside what is kept for the knob
KNOB = 200  # bytes a pixel that it may keep for the knob: `tiny` keeps about 150, `lite` half of that
ENLARGED = 4  # part of the drawer that any page may keep: the network sees fine writing enlarged
GLANCE = 8  # bytes a pixel while a page is only binarized
OLD_PICTURES = 4  # of earlier views, that the page may still be copying
WHOLE = "the whole network"
LAYERS = {  # what can be laid over the page, and its words
    "Result": "the black-and-white page",
    "Probability": "how sure the network is: dark is ink",
    "Gate β": "how much of the background is taken away: bright is much",
    "Background B": "what the network takes for background: bright is much",
    "Taken away β·B": "what was subtracted, pixel by pixel",
}
RAMP = np.array(  # dark blue over green to yellow, in even steps of brightness
    [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], np.float32
)


@dataclass
class Sheet:
    """One page of a file that was dropped."""

    path: Path
    name: str
    number: int
    pages: int
    config: InferenceConfig | None = None  # with which the bitmap was made
    bitmap: Bitmap | None = None
    flags: tuple[str, ...] = ()
    thumbnail: Path | None = None

    @property
    def title(self) -> str:
        """As people would call it."""
        return self.name if self.pages == 1 else f"{self.name}, page {self.number} of {self.pages}"


@dataclass(frozen=True)
class View:
    """What is shown of a page."""

    before: Path  # pictures, as files that no one writes to any more
    after: Path
    facts: str
    notes: list[str]  # flags in words
    links: dict[str, str]  # format -> where it is
    title: str


class Drawer:
    """Explorations of all browsers, within a memory limit; the one not used for longest goes first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._kept: OrderedDict[int, tuple[Sheet, Exploration]] = OrderedDict()
        self._promised: dict[int, int] = {}  # bytes, for sheets that the network is looking at
        self._lock = threading.Condition()

    @contextlib.contextmanager
    def reserve(self, sheet: Sheet, size: int) -> Iterator[None]:
        """Room for a sheet before it is read: the oldest make it, else those in hand must be done first."""
        with self._lock:
            while self.used + size > self.memory:
                if self._kept:
                    self._kept.popitem(last=False)
                else:
                    self._lock.wait()
            self._promised[id(sheet)] = size
        try:
            yield
        finally:
            with self._lock:
                self._promised.pop(id(sheet), None)
                self._lock.notify_all()

    @property
    def used(self) -> int:
        """Bytes that are kept or promised."""
        with self._lock:
            kept = sum(cost(exploration) for _, exploration in self._kept.values())
            return kept + sum(self._promised.values())

    def get(self, sheet: Sheet) -> Exploration | None:
        """The sheet's exploration, if it is still here."""
        with self._lock:
            found = self._kept.get(id(sheet))
            if found is not None:
                self._kept.move_to_end(id(sheet))
            return found[1] if found else None

    def put(self, sheet: Sheet, exploration: Exploration) -> None:
        """Keep one more, in the room that was reserved for it."""
        with self._lock:
            self._promised.pop(id(sheet), None)
            self._kept[id(sheet)] = (sheet, exploration)

    def drop(self, sheets: list[Sheet]) -> None:
        """Forget these."""
        with self._lock:
            for sheet in sheets:
                self._kept.pop(id(sheet), None)


def cost(exploration: Exploration) -> int:
    """Bytes an open page takes, about."""
    return exploration.kept + PER_PIXEL * exploration.rows.height * exploration.rows.width


@dataclass
class Desk:
    """One browser's pages."""

    service: Service
    drawer: Drawer
    sheets: list[Sheet] = field(default_factory=list)
    current: int = 0
    layer: str = "Result"
    seconds: float = 0.0  # the last answer took
    how: str = ""  # it was found
    rounds: int = 0  # how often everything was put away
    lock: threading.RLock = field(default_factory=threading.RLock)
    _links: list[str] = field(default_factory=list)
    _shown: list[Path] = field(default_factory=list)

    def __deepcopy__(self, _: object) -> Desk:
        return self  # it is a place, not a value

    def add(
        self, files: list[tuple[Path, str]], threshold: float, suppress: float, own_round: int
    ) -> Iterator[Sheet | str]:
        """Open files and binarize their pages one after the other; a file's failure is a line of words.

        `own_round` is what `clear` gave: once everything is put away again, nobody waits for these files.
        """
        most = self.service.limits.max_files
        if len(files) > most:
            yield f"{len(files) - most} of {len(files)} files: {most} at most are taken at once"
        for path, name in files[:most]:
            sheet = Sheet(path, plain_name(name), 1, 1)
            while sheet.number <= sheet.pages:
                try:
                    with self.lock:
                        if self.rounds != own_round:
                            return
                        see = self._glance if self.sheets else self._explore  # the first one is shown
                        see(sheet, self._config(threshold, suppress))
                        sheet.thumbnail = self._picture(thumbnail(sheet), ".png")
                        self.sheets.append(sheet)
                except KNOWN as error:
                    yield said(error, path, sheet.name)
                    break
                yield sheet
                sheet = Sheet(path, sheet.name, sheet.number + 1, sheet.pages)

    def select(self, index: int, threshold: float, suppress: float) -> View:
        """Another page."""
        with self.lock:
            self.current = min(max(0, index), len(self.sheets) - 1)
            return self.turn(threshold, suppress)

    def turn(self, threshold: float, suppress: float) -> View:
        """The current page with these settings."""
        with self.lock:
            sheet, config = self.sheets[self.current], self._config(threshold, suppress)
            exploration = self.drawer.get(sheet)
            if exploration is None:
                self._explore(sheet, config)
            elif config != exploration.config:
                started, kept = time.perf_counter(), exploration.kept > 0
                only_threshold = config.suppress == exploration.config.suppress
                page = exploration.turn(threshold=threshold, suppress=suppress)
                self._note(sheet, config, page)
                self.seconds = time.perf_counter() - started
                self.how = "only the threshold" if only_threshold else "only the fusion" if kept else WHOLE
            return self.view()

    def view(self) -> View:
        """The current page as it is."""
        with self.lock:
            sheet = self.sheets[self.current]
            exploration = self.drawer.get(sheet)
            if exploration is None:
                assert sheet.config is not None
                exploration = self._explore(sheet, sheet.config)
            page, rows = exploration.page, exploration.rows
            assert isinstance(rows, ArraySource)
            facts = [f"{rows.width} × {rows.height} pixels", f"{page.quality.ink:.1%} ink"]
            if page.quality.stroke_width:
                facts.append(f"strokes {page.quality.stroke_width:g} pixels wide")
            facts.append(f"{self.seconds:.2f} s ({self.how})")
            while len(self._shown) > OLD_PICTURES:  # the page has its own copies of what was shown before
                self._shown.pop(0).unlink(missing_ok=True)
            before = self._picture(screened(rows.rows(0, rows.height)), ".jpg")
            after = self._picture(layered(exploration, self.layer), ".png")
            self._shown += [before, after]
            notes = [FLAGS.get(flag, flag) for flag in page.quality.flags]
            return View(before, after, " · ".join(facts), notes, self._offer([sheet]), sheet.title)

    def together(self, form: str, threshold: float, suppress: float) -> str:
        """One file of all pages, each with these settings; where it is."""
        with self.lock:
            config = self._config(threshold, suppress)
            for sheet in self.sheets:
                if sheet.config != config:
                    self._glance(sheet, config)
            return self._stored(self.sheets, form)

    def clear(self) -> int:
        """Put everything away; the number of the round that begins."""
        with self.lock:
            self.rounds += 1
            self.drawer.drop(self.sheets)
            for path in [*self._shown, *(s.thumbnail for s in self.sheets if s.thumbnail)]:
                path.unlink(missing_ok=True)
            self.sheets, self.current, self._shown = [], 0, []
            return self.rounds

    def _config(self, threshold: float, suppress: float) -> InferenceConfig:
        changes = {"threshold": float(threshold), "suppress": float(suppress)}
        return replace_values(self.service.engine.binarizer.config, changes)

    def _explore(self, sheet: Sheet, config: InferenceConfig) -> Exploration:
        """Let the network see a page and keep what it saw."""
        pixels = self._measured(sheet)
        all_of_it, beside = self.drawer.memory, PER_PIXEL * pixels
        keep = min(max(KNOB * pixels, all_of_it // ENLARGED), all_of_it - beside)
        with self.drawer.reserve(sheet, beside + keep):
            engine = self.service.engine
            rows = engine.read_page(sheet.path, sheet.number)
            started = time.perf_counter()
            exploration = Exploration(engine.binarizer, rows, config, keep=keep)
            self.seconds, self.how = time.perf_counter() - started, WHOLE
            self.drawer.put(sheet, exploration)
        self._note(sheet, config, exploration.page)
        return exploration

    def _glance(self, sheet: Sheet, config: InferenceConfig) -> None:
        """The same for a page that nobody looks at yet: only its result is kept."""
        pixels = self._measured(sheet)
        self.drawer.drop([sheet])
        with self.drawer.reserve(sheet, GLANCE * pixels):
            engine = self.service.engine
            rows = engine.read_page(sheet.path, sheet.number)
            self._note(sheet, config, engine.binarizer.binarize(rows, config, keep="ink"))

    def _measured(self, sheet: Sheet) -> int:
        """The pixels that a page declares; one that is too large is refused before it is decoded."""
        pixels, sheet.pages = self.service.engine.measure(sheet.path, sheet.number)
        most = self.drawer.memory // PER_PIXEL
        if pixels > most:
            words = f"has more than the {most / 1e6:.0f} megapixels that this page takes; use the API"
            raise over_limit("pixels", most, words)
        return pixels

    def _note(self, sheet: Sheet, config: InferenceConfig, page: BinarizedPage) -> None:
        sheet.config, sheet.bitmap, sheet.flags = config, page.bitmap, page.quality.flags

    def _picture(self, rgb: RGB, ending: str) -> Path:
        """A picture for the screen, as a new file."""
        path = self.service.store.folder / f"{secrets.token_hex(16)}{ending}"
        Image.fromarray(rgb).save(path, quality=88, compress_level=3)  # JPEG minds the one, PNG the other
        return path

    def _offer(self, sheets: list[Sheet]) -> dict[str, str]:
        """The current result in every format; the last offer is withdrawn."""
        for name in self._links:
            self.service.store.drop(name)
        links = {form: self._stored(sheets, form) for form in MEDIA}
        self._links = [link.rpartition("/")[2] for link in links.values()]
        return links

    def _stored(self, sheets: list[Sheet], form: str) -> str:
        store, ending = self.service.store, ENDINGS[form]
        data = encode([sheet.bitmap for sheet in sheets if sheet.bitmap is not None], ending)
        path = store.workplace() / f"page{ending}"
        path.write_bytes(data)
        sheet = sheets[0]
        stem = Path(sheet.name).stem + (
            f"-{sheet.number:04d}" if sheet.pages > 1 and len(sheets) == 1 else ""
        )
        name = store.put(path, MEDIA[form], result_name(f"{stem}.x", ending))
        path.parent.rmdir()
        return f"v1/results/{name}"


def said(error: Exception, path: Path, name: str) -> str:
    """An error in words that name the file as its owner does."""
    problem = told(error, path, name)
    if problem.status >= 500:
        log.error("a page failed: %s", error)
    return problem.detail


def thumbnail(sheet: Sheet) -> RGB:
    """A small result on a square."""
    assert sheet.bitmap is not None
    small = sheet.bitmap.image().convert("L")
    small.thumbnail((THUMB, THUMB))
    square = Image.new("L", (THUMB, THUMB), 236)
    square.paste(small, ((THUMB - small.width) // 2, (THUMB - small.height) // 2))
    return np.asarray(square.convert("RGB"))


def screened(rgb: RGB) -> RGB:
    """A page at the size of a screen."""
    factor = -(-max(rgb.shape[:2]) // LONGEST)
    return rgb if factor == 1 else np.asarray(Image.fromarray(rgb).reduce(factor))


def layered(exploration: Exploration, layer: str) -> RGB:
    """The page as one of the layers."""
    if layer not in LAYERS:
        raise InputError(f"there is no layer {layer!r}; there are {', '.join(LAYERS)}")
    page, rows = exploration.page, exploration.rows
    if layer == "Result":
        return grey(np.where(page.binary, np.uint8(0), np.uint8(255)))
    if layer == "Probability":
        return grey((255 - page.probability * 255 + 0.5).astype(np.uint8))
    why = exploration.explanation()
    values = {"Gate β": why.beta, "Background B": why.B, "Taken away β·B": why.taken}[layer]
    small = screened(rows.rows(0, rows.height))
    return overlay(small, shrunk(values, small.shape[:2]))


def grey(values: NDArray[np.uint8]) -> RGB:
    """One channel as three, at the size of a screen."""
    return screened(np.repeat(values[:, :, None], 3, axis=2))


def shrunk(values: Map, shape: tuple[int, ...]) -> Map:
    """A map at the size of a picture."""
    return np.asarray(Image.fromarray(values).resize((shape[1], shape[0]), Image.Resampling.BOX))


def overlay(page: RGB, values: Map) -> RGB:
    """A map in colours over a page that shines through."""
    rim = [min(24, side // 4) for side in values.shape]  # where the scans have only begun
    inner = values[rim[0] : values.shape[0] - rim[0], rim[1] : values.shape[1] - rim[1]]
    low, high = np.percentile(inner, (1, 99))
    place = np.clip((values - low) / max(float(high - low), 1e-9), 0, 1) * (len(RAMP) - 1)
    floor = np.minimum(place.astype(np.int64), len(RAMP) - 2)
    part = (place - floor)[:, :, None]
    colours = RAMP[floor] * (1 - part) + RAMP[floor + 1] * part
    brightness = page.mean(axis=2, keepdims=True) / 255
    shining: RGB = (colours * (0.45 + 0.55 * brightness)).astype(np.uint8)
    return shining
