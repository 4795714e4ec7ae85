"""The binarizers that are compared, and what identifies each of them in the cache."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import drmamba
from anypage_pages.page import Mask, Page
from drmamba import Binarizer
from drmamba.config import CLASSICAL, InferenceConfig
from drmamba.errors import ConfigError
from drmamba.experiments.baselines import binarize, grey, library_version, settings
from drmamba.inference.binarizer import UntrainedWarning

CLASSICAL_METHODS = ("otsu", "sauvola", "gatos", "su")
NETWORK, WINDOWS, TRUTH = "drmamba", "windows", "truth"
METHODS = (NETWORK, *CLASSICAL_METHODS)
KNOWN_METHODS = (*METHODS, WINDOWS, TRUTH)


@dataclass(frozen=True)
class Method:
    """A binarizer and everything that decides its pixels."""

    name: str
    identity: dict[str, Any]
    find_ink: Callable[[Page], Mask]


def make_method(name: str, *, model: str = "lite", keep: str | None = None) -> Method:
    """A method by name.

    `windows` is the network without page context; `truth` gives the true ink back, which shows what an OCR program can
    reach at best.
    """
    if name in (NETWORK, WINDOWS):
        return _network(name, model, keep)
    if name == TRUTH:
        return Method(TRUTH, {"method": TRUTH}, lambda page: page.ink)
    if name in CLASSICAL:
        identity = {"method": name, "library": library_version(), "settings": settings(name).to_dict()}
        return Method(name, identity, lambda page: binarize(name, grey(page.scan)))
    raise ConfigError(f"there is no method {name!r}; there are {', '.join(KNOWN_METHODS)}")


def _network(name: str, model: str, keep: str | None) -> Method:
    chosen: dict[str, Any] = {} if name == NETWORK else {"context": False}
    if keep is not None:
        if "keep" in {field.name for field in fields(InferenceConfig)}:
            chosen["keep"] = keep
        else:
            print("This version has no setting `keep`, so --keep is ignored.", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        binarizer = Binarizer.from_pretrained(model, config=InferenceConfig(**chosen))
    identity = {
        "method": NETWORK,
        "sha256": binarizer.sha256,
        "settings": asdict(binarizer.config),
        "code": code_digest(),
    }
    return Method(name, identity, lambda page: binarizer(page.scan).binary)


def code_digest() -> str:
    """A digest of the code that binarizes: what another version found is not used."""
    folder = Path(drmamba.__file__).parent
    files = sorted(path for part in ("images", "inference") for path in (folder / part).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
