"""The settings of a request: those of `drmamba binarize`, as query parameters of the same names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from drmamba.config import (
    PURPOSES,
    InferenceConfig,
    Keep,
    PdfCoding,
    Pictures,
    Precision,
    PurposeName,
    ReadingConfig,
    WindowConfig,
    chosen_settings,
)
from drmamba.errors import CheckpointError, ConfigError, InputError, MissingExtra
from drmamba.images.writing.jbig2 import find_jbig2
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.jobs import ENDINGS, SAME
from drmamba.service.problems import Problem

try:
    from pydantic import BaseModel, Field
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

DEFAULT, WINDOWS, READING = InferenceConfig(), WindowConfig(), ReadingConfig()
Format = Literal["png", "tiff", "pdf", "same"]
LARGEST_WINDOW = 4096  # pixels; the memory limit allows less for most pages


class SettingsQuery(BaseModel):
    """The query parameters; those that are left out follow the protocol."""

    format: Format = Field(
        "png",
        description="The format of the results. With same, TIFF and PDF files keep their format, and all other files "
        "become PNG.",
    )
    soft: bool = Field(
        False,
        description="Make the probability of ink as an 8-bit PNG in addition. An answer that is one file is then "
        "this PNG; a JSON answer links to both.",
    )
    pdf_coding: PdfCoding = Field(
        "auto",
        description="How pages in PDF files are compressed, without loss; auto is jbig2 where jbig2enc is installed, "
        "and g4 elsewhere.",
    )
    purpose: PurposeName | None = Field(
        None,
        alias="for",
        description="Settings for a kind of page: "
        + ", ".join(f"{name} for {purpose.words}" for name, purpose in PURPOSES.items())
        + ". Settings that are given as well take precedence.",
    )
    keep: Keep | None = Field(
        None,
        description="Which marks are ink: text keeps writing alone; all keeps rules, frames, stamps and drawings as "
        "well, by the network if it has learned to, else by a threshold.",
    )
    threshold: float | None = Field(
        None, gt=0, lt=1, description="Pixels with a probability above this are ink; lower is bolder."
    )
    suppress: float | None = Field(
        None,
        ge=0,
        le=100,
        description="How strongly the background is suppressed: 0 not at all, 1 as the model chooses, more than 1 "
        "more strongly.",
    )
    margins: bool | None = Field(None, description="Remove dark margins of the scan.")
    despeckle: bool | None = Field(
        None, description="Remove specks, which are pieces of ink smaller than a fragment of a stroke."
    )
    witness: bool | None = Field(
        None,
        description="Compare the result with what is dark on the page, and name what is missing or doubtful.",
    )
    second_look: bool | None = Field(
        None,
        description="Show the network once more what the witness misses, at another scale or with shifted windows.",
    )
    restore: bool | None = Field(
        None, description="With keep=all, take what is still missing from the page itself."
    )
    find_pictures: bool | None = Field(None, description="Find pictures in tone.")
    pictures: Pictures | None = Field(
        None,
        description="What becomes of pictures in tone: dots (dither), black and white areas (threshold), nothing "
        "(white), or a grey layer below the ink of a PDF page (grey).",
    )
    invert: bool | None = Field(None, description="Invert pages that are white on black.")
    auto_rotate: bool | None = Field(
        None,
        description="Rotate pages whose lines run up or down for the network; the result keeps the page's orientation.",
    )
    auto_contrast: bool | None = Field(
        None,
        description="Show pages whose ink is pale throughout to the network with more contrast, if the model asks for "
        "it.",
    )
    add_noise: bool | None = Field(
        None, description="Add a little noise for the network to pages that are cleaner than any scan."
    )
    keep_bilevel: bool | None = Field(
        None, description="Keep pages that are already black and white as they are."
    )
    context: bool | None = Field(
        None,
        description="Show the network the whole page, reduced, in addition to each window; models without page "
        "context ignore this.",
    )
    scale: Literal["auto"] | float | None = Field(
        None,
        description="The factor by which a page is scaled for the network, from 0.05 to 8; auto scales pages whose "
        "strokes are much wider or narrower than usual.",
    )
    dpi: int = Field(
        READING.dpi,
        ge=30,
        le=2400,
        description="The resolution at which PDF pages that are not scans are rendered.",
    )
    protocol: Literal["default", "paper"] = Field(
        "default",
        description="How the network runs: paper uses windows of 512 with stride 256 and no other processing.",
    )
    window: int | None = Field(
        None, ge=32, le=LARGEST_WINDOW, description="The side of the sliding window in pixels."
    )
    stride: int | None = Field(
        None,
        ge=1,
        le=LARGEST_WINDOW,
        description="The step of the sliding window in pixels; a smaller one is slower and smoother.",
    )
    precision: Precision | None = Field(
        None,
        description="The number format of the network; auto is the runtime's own, and bfloat16 needs torch and "
        "hardware that computes in it.",
    )


# What happens if a parameter is left out, for the description of the API and for the form of the web page.
DEFAULTS: dict[str, Any] = DEFAULT.to_dict() | {"window": WINDOWS.window, "stride": WINDOWS.stride}
# All others are settings of an InferenceConfig.
RESULT_SETTINGS = ("format", "soft", "pdf_coding", "purpose", "dpi", "protocol", "window", "stride")


@dataclass(frozen=True)
class RequestSettings:
    """The settings of one request, checked."""

    config: InferenceConfig
    reading: ReadingConfig
    format: Format = "png"
    soft: bool = False
    pdf_coding: PdfCoding = "auto"

    @classmethod
    def parse(cls, query: SettingsQuery, binarizer: Binarizer, reading: ReadingConfig) -> RequestSettings:
        """Return the settings, or raise a problem that says why the model cannot be run with them."""
        given = {name: value for name, value in query if name not in RESULT_SETTINGS}
        chosen = query.model_fields_set
        if query.purpose and query.protocol != "default":
            words = f"for: the protocol {query.protocol} has settings of its own; leave one out"
            raise Problem(422, "invalid", words)
        if query.pdf_coding == "jbig2" and find_jbig2() is None:
            words = "pdf_coding: jbig2enc is not installed on the service's machine; use g4"
            raise Problem(422, "invalid", words)
        if query.pictures == "grey" and query.format != "pdf":
            words = "pictures: only PDF pages show pictures in grey; use format=pdf, or another choice"
            raise Problem(422, "invalid", words)
        if query.purpose:
            given = PURPOSES[query.purpose].under(given)
        try:
            config = chosen_settings(query.protocol, given, query.window, query.stride)
            config = binarizer.with_config(config).config  # states the precision that is used
            if query.purpose and query.keep is None:
                config = binarizer.with_config(config).keeping(PURPOSES[query.purpose].keep).config
        except ConfigError as error:
            raise Problem(422, "invalid", str(error)) from error
        except CheckpointError as error:
            if query.keep == "all":
                words = "this service's model knows text only; leave keep out"
                raise Problem(422, "keep", words) from error
            raise Problem(422, "invalid", str(error)) from error
        except InputError as error:
            raise Problem(422, "invalid", str(error)) from error
        dpi = query.dpi if "dpi" in chosen else reading.dpi
        return cls(config, ReadingConfig(dpi=dpi), query.format, query.soft, query.pdf_coding)

    def ending(self, name: str) -> str:
        """Return the ending of the result of a file with this name."""
        if self.format == "same":
            return SAME.get(Path(name).suffix.lower(), ".png")
        return ENDINGS[self.format]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a JSON answer."""
        made = {"format": self.format, "soft": self.soft, "pdf_coding": self.pdf_coding}
        return self.config.to_dict() | made | {"dpi": self.reading.dpi}
