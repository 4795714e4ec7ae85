"""The OCR-D processor `ocrd-drmamba-binarize` adds binarized pages, regions or lines as AlternativeImage.

ocrd-drmamba-binarize -I OCR-D-IMG -O OCR-D-BIN -P operation_level page
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from PIL import Image

from drmamba.config import PRESETS, EngineConfig, InferenceConfig
from drmamba.errors import MissingExtra
from drmamba.images import as_page_source
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.quality import FLAGS

try:
    from ocrd import OcrdPageResult, OcrdPageResultImage, Processor
    from ocrd.decorators import ocrd_cli_options, ocrd_cli_wrap_processor
    from ocrd.processor.base import ResourceNotFoundError
    from ocrd_models.ocrd_page import AlternativeImageType, OcrdPage
except ModuleNotFoundError as error:
    if error.name != "ocrd":
        raise  # ocrd is installed, but one of its own dependencies is missing
    raise MissingExtra("ocrd", "ocrd") from error

EXECUTABLE = "ocrd-drmamba-binarize"
FEATURE = "binarized"
ORIENTATION = 274  # number of the EXIF tag that holds the orientation


class DRMambaBinarize(Processor):  # type: ignore[misc]
    """Binarize the images of a workspace. Coordinates in the PAGE files do not change."""

    # Every page runs on all cores already, and the threads that do so would not survive a fork.
    max_workers = 1
    binarizer: Binarizer | None = None

    @property
    def metadata_filename(self) -> str:
        """The path of the tool's description, relative to the package."""
        return "integrations/ocrd-tool.json"

    @property
    def executable(self) -> str:
        """The tool's name, whichever program runs it."""
        return EXECUTABLE

    def setup(self) -> None:
        """Load the model, so that a problem with it is reported before any page is processed."""
        given = self.parameter
        self.settings = InferenceConfig(
            threshold=given["threshold"],
            suppress=given["suppress"],
            keep=given["keep"],
            context=given["context"],
            scale=given["scale"] or "auto",
            margins=given["operation_level"] == "page",  # regions and lines have no margins
        )
        engine = EngineConfig(device=given["device"], workers=int(given["workers"]))
        self.binarizer = Binarizer.from_pretrained(
            self._model(given["model"]), config=self.settings, engine=engine
        )

    def shutdown(self) -> None:
        """Release the model, whose threads then end by themselves.

        OCR-D also calls this from `__del__`, and thus from the garbage collector at any point of any thread. Waiting
        for threads here would be a deadlock if that point is inside the start of another thread.
        """
        self.binarizer = None

    def process_page_pcgts(self, *input_pcgts: OcrdPage | None, page_id: str | None = None) -> OcrdPageResult:
        """Binarize the image of a page, or those of its regions or lines, depending on `operation_level`.

        Each result is a new AlternativeImage with all features of its source and the feature `binarized`. The source
        is the best image that is not binarized yet; cropped and deskewed images are preferred.
        """
        (pcgts,) = input_pcgts
        assert pcgts is not None
        page = pcgts.get_Page()
        result = OcrdPageResult(pcgts)
        level = self.parameter["operation_level"]
        image, coords, _ = self.workspace.image_from_page(page, page_id, feature_filter=FEATURE)
        if level == "page":
            result.images.append(self._binarized(page, page_id, image, coords, "IMG-BIN"))
            return result
        regions = page.get_AllRegions(classes=["Text"])
        if not regions:
            self.logger.warning(
                "page %s has no text regions; segment it first, or set operation_level to page", page_id
            )
        for region in regions:
            part = self.workspace.image_from_segment(region, image, coords, feature_filter=FEATURE)
            segments = [(region, *part)]
            if level == "line":
                segments = [
                    (line, *self.workspace.image_from_segment(line, *part, feature_filter=FEATURE))
                    for line in region.get_TextLine()
                ]
            for segment, picture, place in segments:
                found = self._binarized(segment, page_id, picture, place, f"{segment.id}.IMG-BIN")
                result.images.append(found)
        return result

    def _binarized(
        self, owner: Any, page_id: str | None, image: Image.Image, coords: dict[str, Any], suffix: str
    ) -> OcrdPageResultImage:
        """Binarize the image of a page or segment, and add the result to its owner."""
        assert self.binarizer is not None
        image.getexif().pop(ORIENTATION, None)  # PAGE coordinates refer to pixels as they are stored
        page = self.binarizer.binarize(as_page_source(image), self.settings, keep="ink")
        flags = "; ".join(FLAGS[flag] for flag in page.quality.flags)
        if flags:
            self.logger.warning("%s %s: %s", page_id, suffix, flags)
        picture = page.bitmap.image()
        if "dpi" in image.info:
            picture.info["dpi"] = image.info["dpi"]
        features = ",".join(feature for feature in (coords["features"], FEATURE) if feature)
        alternative = AlternativeImageType(comments=features)
        owner.add_AlternativeImage(alternative)
        return OcrdPageResultImage(picture, suffix, alternative)

    def _model(self, name: str) -> str | Path:
        """Return the file if the name is one of OCR-D's resources or a path; other names are returned unchanged."""
        if name in PRESETS:
            return name
        try:
            # The path must be absolute, because the processor changes its working directory later.
            return Path(self.resolve_resource(name)).resolve()
        except ResourceNotFoundError:
            return name


@click.command()
@ocrd_cli_options
def command(*args: Any, **kwargs: Any) -> Any:
    """Run the processor; this is the program `ocrd-drmamba-binarize`."""
    return ocrd_cli_wrap_processor(DRMambaBinarize, *args, **kwargs)
