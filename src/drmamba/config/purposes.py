"""Named sets of settings for kinds of pages, which `--for` chooses; docs/binarize.md says what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from drmamba.config.inference import Keep

PurposeName = Literal["photo", "newspaper", "manuscript", "lineart"]


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """What a kind of page needs; settings that are given one by one take precedence."""

    words: str  # completes "for ..."
    settings: Mapping[str, Any] = field(default_factory=dict)  # of InferenceConfig
    keep: Keep = "text"  # used if the model has learned it

    def under(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return these settings together with those given; None stands for a setting that was not given."""
        return {**self.settings, **{name: value for name, value in given.items() if value is not None}}


PURPOSES: dict[PurposeName, Purpose] = {
    # The noise of small cameras leaves single specks.
    "photo": Purpose(words="pages photographed by hand", settings={"despeckle": True}),
    # Rules divide the columns, and the smallest print is as small as specks are.
    "newspaper": Purpose(words="newspapers and print with rules", settings={"despeckle": False}, keep="all"),
    # Thin and faded strokes are worth more than a few spots.
    "manuscript": Purpose(words="handwriting", settings={"threshold": 0.4}),
    # Lines of a drawing run in all directions, may be few, and may fill the page to its edge.
    "lineart": Purpose(
        words="drawings, maps and engravings",
        settings={"auto_rotate": False, "invert": False, "margins": False},
        keep="all",
    ),
}
assert tuple(PURPOSES) == get_args(PurposeName)
