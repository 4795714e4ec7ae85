"""The OCRmyPDF plugin lets tesseract read the binarized page; with `--drmamba-keep` the PDF shows it, too.

    ocrmypdf --plugin drmamba.integrations.ocrmypdf scan.pdf out.pdf

OCRmyPDF processes pages in threads or processes of its own. Threads share one model with as many workers as there are
`--jobs`; each process has a model of its own with one worker. Either way no more than `--jobs` windows are computed
at once.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from argparse import ArgumentParser
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drmamba.config import DEFAULT_MODEL, EngineConfig, InferenceConfig
from drmamba.errors import DRMambaError, MissingExtra

if TYPE_CHECKING:
    from ocrmypdf import OcrOptions, PageContext
    from ocrmypdf.pdfinfo import PdfInfo
    from PIL import Image

    from drmamba.inference.binarizer import BinarizedPage, Binarizer

try:
    from ocrmypdf import BadArgsError, ExitCodeException, hookimpl
except ModuleNotFoundError as error:
    if error.name != "ocrmypdf":
        raise  # ocrmypdf is installed, but one of its own dependencies is missing
    raise MissingExtra("ocrmypdf", "ocrmypdf") from error

DEFAULT, ENGINE, MODEL = InferenceConfig(), EngineConfig(), DEFAULT_MODEL
# Flags of pages that a person should look at, and of those the ones whose scan must not be replaced.
DOUBTFUL = ("uncertain", "dense", "blank", "lost_content", "kept_dirt", "picture")
IRREPLACEABLE = frozenset({"lost_content", "picture"})

log = logging.getLogger(__name__)
_loading = threading.Lock()
# The key begins with the process, because the threads of a Binarizer do not survive a fork.
_binarizers: dict[tuple[int, str, str, int], Binarizer] = {}


@hookimpl
def add_options(parser: ArgumentParser) -> None:
    """Add `--drmamba-*`; in Python these are keyword arguments `drmamba_*` of `ocrmypdf.ocr`."""
    group = parser.add_argument_group(
        "drmamba", "Binarize pages with the DR-Mamba network before tesseract reads them."
    )
    group.add_argument(
        "--drmamba-keep",
        action="store_true",
        help="Show the black-and-white pages in the PDF instead of the scans. (Pages that already have text, "
        "or have no image, do not change unless --force-ocr is given.)",
    )
    group.add_argument(
        "--drmamba-model",
        default=MODEL,
        help="The network: a preset, a model file, or a repository on the Hugging Face Hub. (default: %(default)s)",
    )
    group.add_argument(
        "--drmamba-threshold",
        type=float,
        default=DEFAULT.threshold,
        help="Pixels with a probability above this are ink. (default: %(default)s)",
    )
    group.add_argument(
        "--drmamba-suppress",
        type=float,
        default=DEFAULT.suppress,
        help="How strongly the background is suppressed: 0 not at all, 1 as the model chooses, more than 1 more "
        "strongly. (default: %(default)s)",
    )
    group.add_argument(
        "--drmamba-scale",
        type=_scale,
        default=DEFAULT.scale,
        help="The factor by which a page is scaled for the network: auto or a number. (default: %(default)s)",
    )
    group.add_argument(
        "--drmamba-device",
        default=ENGINE.device,
        help="The device: auto, cpu, cuda or, for example, cuda:1. (default: %(default)s)",
    )


def _scale(text: str) -> str | float:
    return text if text == "auto" else float(text)


@hookimpl
def check_options(options: OcrOptions) -> None:
    """Refuse wrong values before any page is opened."""
    try:
        _config(options)
    except DRMambaError as error:
        raise BadArgsError(str(error)) from error
    if _option(options, "keep", False) and options.redo_ocr:
        raise BadArgsError(
            "--drmamba-keep replaces the pages that --redo-ocr must not change; give only one of the two options"
        )


@hookimpl
def validate(pdfinfo: PdfInfo, options: OcrOptions) -> None:
    """Ask OCRmyPDF to render scanned pages, and no others, as images, which it does only in its force mode."""
    if not _option(options, "keep", False) or not options.lossless_reconstruction:
        return
    chosen = [page for page in pdfinfo.pages if page and (not options.pages or page.pageno in options.pages)]
    if not options.skip_text and any(page.has_text for page in chosen):
        return  # OCRmyPDF stops at such a page with a message that names the options
    scans = {page.pageno for page in chosen if page.images and not page.has_text}
    if not scans:
        return
    options.mode = "force"
    if len(scans) < len(pdfinfo):
        options.pages = scans
        options.use_threads = True  # OCRmyPDF 17.13 cannot pass a choice of pages to other processes


@hookimpl(wrapper=True)
def filter_ocr_image(
    page: PageContext, image: Image.Image
) -> Generator[None, Image.Image | None, Image.Image]:
    """Return the image that tesseract reads; other plugins have filtered it before."""
    filtered = yield
    filtered = image if filtered is None else filtered
    if filtered.mode == "1":
        return filtered
    result = _binarized(page.options, filtered)
    if _option(page.options, "keep", False) and filtered is image and _read_as_shown(page.options):
        _keep(page, result)
    picture = result.bitmap.image()
    picture.info["dpi"] = filtered.info["dpi"]  # the position of the text layer depends on it
    return picture


@hookimpl
def filter_page_image(page: PageContext, image_filename: Path) -> Path | None:
    """Return the image that the PDF shows, or None for the scan."""
    from PIL import Image

    if not _option(page.options, "keep", False):
        return None
    kept = _kept(page)
    if not kept.exists():  # tesseract read no image, or a different one
        with Image.open(image_filename) as image:
            if image.mode == "1":
                return None
            _keep(page, _binarized(page.options, image))
    # An empty file stands for a page whose scan stays.
    return kept if kept.stat().st_size else None


def _keep(page: PageContext, result: BinarizedPage) -> None:
    """Store the page that the PDF shows; the scan stays if it has a picture or something was lost."""
    if IRREPLACEABLE & set(result.quality.flags):
        _kept(page).write_bytes(b"")
        log.warning("the PDF shows the scan of this page, because black and white would lose something of it")
    else:
        result.save(_kept(page))


def _kept(page: PageContext) -> Path:
    return Path(page.get_path("drmamba.png"))


def _read_as_shown(options: OcrOptions) -> bool:
    """Return whether the image for tesseract is also the one for the PDF, so that one result serves both."""
    return not (
        options.clean or options.clean_final or options.remove_vectors or options.max_ocr_image_mpixels
    )


def _option(options: OcrOptions, name: str, default: Any) -> Any:
    # A program that calls ocrmypdf may leave out any option.
    return getattr(options, f"drmamba_{name}", default)


def _config(options: OcrOptions) -> InferenceConfig:
    names = ("threshold", "suppress", "scale")
    return InferenceConfig.from_dict({name: _option(options, name, getattr(DEFAULT, name)) for name in names})


def _binarized(options: OcrOptions, image: Image.Image) -> BinarizedPage:
    """Binarize one page, and log a warning if the result is doubtful."""
    from drmamba.images import as_page_source
    from drmamba.inference.quality import FLAGS

    try:
        result = _binarizer(options).binarize(as_page_source(image), _config(options), keep="ink")
    except DRMambaError as error:
        raise ExitCodeException(f"drmamba: {error}") from error
    doubts = "; ".join(FLAGS[flag] for flag in result.quality.flags if flag in DOUBTFUL)
    if doubts:
        log.warning("a person should look at this page: %s", doubts)
    return result


def _binarizer(options: OcrOptions) -> Binarizer:
    """Return the model of this process, which is loaded when the first page arrives."""
    from drmamba.inference.binarizer import UNTRAINED, Binarizer, UntrainedWarning

    model, device = _option(options, "model", MODEL), _option(options, "device", ENGINE.device)
    workers = (options.jobs or 0) if options.use_threads else 1
    key = (os.getpid(), model, device, workers)
    with _loading:
        if key not in _binarizers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UntrainedWarning)  # logged below instead
                loaded = Binarizer.from_pretrained(model, engine=EngineConfig(device=device, workers=workers))
            if not loaded.provenance.trained:
                log.warning(UNTRAINED.format(model))
            _binarizers[key] = loaded
        return _binarizers[key]
