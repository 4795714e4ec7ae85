"""The manifest of a run: the sha256 and role of every file, checked so that no page has two roles."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from drmamba.data.dibco import Pair, Split
from drmamba.errors import DataError
from drmamba.files import sha256
from drmamba.images import read_ink


def manifest(split: Split) -> dict[str, Any]:
    """Role, files and hashes of every pair, ready for JSON; a page with two roles is an error.

    Pages are recognized by their ink, so that a copy in another folder, under another name or in another file format
    counts as the same page.
    """
    listed = list(split.roles())
    with ThreadPoolExecutor(2) as pool:
        records = list(pool.map(lambda entry: _record(*entry), listed))
    first: dict[str, dict[str, Any]] = {}
    for record in records:
        other = first.setdefault(record["page"], record)
        if other["role"] != record["role"]:
            raise DataError(
                f"{record['truth']} ({record['role']}) and {other['truth']} ({other['role']}) are the same page; "
                "remove one of them, because otherwise the score on unseen pages would be meaningless"
            )
    return {"manifest": 1, "pages": records}


def _record(role: str, pair: Pair) -> dict[str, Any]:
    return {
        "role": role,
        "year": pair.year,
        "name": pair.name,
        "image": str(pair.image),
        "image_sha256": sha256(pair.image),
        "truth": str(pair.truth),
        "truth_sha256": sha256(pair.truth),
        "page": fingerprint(pair),
    }


def fingerprint(pair: Pair) -> str:
    """A digest of the page's size and ink, whatever file they are stored in.

    A page without ink is identified by its picture file instead.
    """
    ink = read_ink(pair.truth)
    if not ink.any():
        return sha256(pair.image)
    return hashlib.sha256(repr(ink.shape).encode() + np.packbits(ink).tobytes()).hexdigest()
