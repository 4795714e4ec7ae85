"""The fonts of this machine by the scripts that they cover; Pillow's own font where there are none.

`matplotlib.font_manager` also lists the system's fonts, but it writes a cache to the user's home and knows neither the
scripts nor the characters that a font has.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import ImageFont, features

from drmamba.data.synthetic.texts import SHAPED, Script, words
from drmamba.errors import DataError

SUFFIXES = (".ttf", ".otf", ".ttc")
FEWEST = 15  # words of a script's passages that a font must be able to set
BUILT_IN = ""  # the file name that stands for the font inside Pillow
# Patterns of file names: fonts of symbols or with writing lines in every letter, and fonts that imitate handwriting.
_SIGNS = re.compile(
    r"symbol|emoji|dingbat|math|music|icon|d050000l|braille|barcode|fallback|lastresort"
    r"|^cm(ex|sy|mi)|^stix(siz|nonuni)|biolinum_k|lignes",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"script|hand|z003|chancery|dancing|kristi|breip|kaushan|femke|ecolier|joscelyn|because|havana|isabella"
    r"|gazis|cursive|callig|^ruf|^dkg|courgette|satisfy|pacifico|caveat|allura|tangerine",
    re.IGNORECASE,
)
# Fonts made for one script. Their Latin letters, if any, are alike and would outnumber all other faces.
_OF_ONE_SCRIPT = re.compile(
    r"noto\w*?(sans|serif|naskh|nastaliq|kufi|rashi|urdu)(?!mono|display|hebrew-)[a-z]{3,}|abyssinica|lohit"
    r"|samyak|gargi|nakula|sahadeva|chandas|kalimati|sarai",
    re.IGNORECASE,
)
_FAMILY = re.compile(r"[^-_.\d]+")

Font = ImageFont.FreeTypeFont
Style = Literal["any", "heavy", "typewriter"]
_STYLES: dict[Style, re.Pattern[str]] = {
    "any": re.compile(""),
    "heavy": re.compile(r"bold|black|heavy|demi|poster|fraktur", re.IGNORECASE),
    "typewriter": re.compile(r"mono|courier|typewriter|cmtt|cmuntt|freemono|nimbusmono", re.IGNORECASE),
}


class Fonts:
    """Font files by family, in a fixed order, so that a choice is the same on machines with the same fonts."""

    def __init__(self, folder: Path | str | None = None) -> None:
        files = font_files([Path(folder)] if folder else system_folders())
        if folder and not files:
            raise DataError(f"{folder} holds no fonts ({', '.join(SUFFIXES)})")
        names = {f: Path(f).name for f in files}
        special = [f for f in files if _OF_ONE_SCRIPT.match(names[f])]
        general = [f for f in files if f not in set(special)]
        self.printed = families(f for f in general if not _WRITTEN.search(names[f])) or [[BUILT_IN]]
        self.written = families(f for f in general if _WRITTEN.search(names[f])) or self.printed
        self.special = families(special)
        self.shaped = bool(features.check("raqm"))

    def pick(
        self, rng: np.random.Generator, script: Script, *, written: bool = False, style: Style = "any"
    ) -> str | None:
        """A random font of a random family that has the script's letters, or None where there is none.

        Where no font has the wanted style, any font is taken.
        """
        if script in SHAPED and not self.shaped:
            return None
        choice = self.written if written else self.printed
        if script not in ("latin", "greek", "cyrillic"):
            choice = choice + self.special
        for wanted in dict.fromkeys((style, "any")):
            for place in rng.permutation(len(choice)):
                family = [f for f in choice[int(place)] if _STYLES[wanted].search(Path(f).name)]
                if not family:
                    continue
                file = family[int(rng.integers(len(family)))]
                if len(settable(file, script)) >= FEWEST:
                    return file
        return None


def families(files: Iterable[str]) -> list[list[str]]:
    """Files grouped by the beginning of their name, so that a large family is not drawn more often than a small one."""
    groups: dict[str, list[str]] = {}
    for file in files:
        found = _FAMILY.match(Path(file).name)
        groups.setdefault(found.group() if found else file, []).append(file)
    return list(groups.values())


def system_folders() -> list[Path]:
    """The folders in which this system keeps fonts, and that of the DejaVu fonts that come with matplotlib."""
    home = Path.home()
    folders = [home / ".fonts", Path(os.environ.get("XDG_DATA_HOME", home / ".local/share")) / "fonts"]
    folders += [
        Path(d) / "fonts" for d in os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":")
    ]
    if sys.platform == "darwin":
        folders += [home / "Library/Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts")]
    if sys.platform == "win32":
        folders.append(Path(os.environ.get("WINDIR", "C:/Windows")) / "Fonts")
    matplotlib = importlib.util.find_spec("matplotlib")
    if matplotlib and matplotlib.origin:
        folders.append(Path(matplotlib.origin).parent / "mpl-data/fonts/ttf")
    return folders


def font_files(folders: Sequence[Path]) -> list[str]:
    """Font files below the folders, one of each name, sorted by name."""
    found: dict[str, str] = {}
    for file in _walk(folders):
        if file.suffix.lower() in SUFFIXES and not _SIGNS.search(file.name):
            found.setdefault(file.name, str(file))
    return [found[name] for name in sorted(found)]


def _walk(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.rglob("*"))


@lru_cache(maxsize=512)
def loaded(file: str, size: int, shaped: bool = False) -> Font:
    """The font at a size in pixels; with a layout engine where the script needs one (it is slower)."""
    layout = ImageFont.Layout.RAQM if shaped else ImageFont.Layout.BASIC
    if file == BUILT_IN:
        font = ImageFont.load_default(size)
        if not isinstance(font, ImageFont.FreeTypeFont):
            raise DataError("this Pillow cannot draw text: install one built with FreeType")
        return font
    return ImageFont.truetype(file, size, layout_engine=layout)


@cache
def settable(file: str, script: Script) -> tuple[str, ...]:
    """The words of a script that the font can set completely; none for a file that does not open."""
    try:
        font = loaded(file, 20)
        missing = bytes(font.getmask("\U0010fffd"))
        passage = words(script)
        if not any(_has(font, word[0], missing) for word in passage[:: len(passage) // 12]):
            return ()  # most fonts cover few scripts, so a dozen letters are enough to decide
        known = {c for c in set("".join(passage)) if _has(font, c, missing)}
    except OSError:
        return ()
    return tuple(word for word in words(script) if known.issuperset(word))


def _has(font: Font, character: str, missing: bytes) -> bool:
    """Whether a font has a character. Marks above or below a letter may have no picture of their own."""
    picture = bytes(font.getmask(character))
    if unicodedata.category(character)[0] == "M":
        return picture != missing or not missing
    return picture not in (missing, b"")
