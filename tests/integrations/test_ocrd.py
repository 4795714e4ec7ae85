"""The OCR-D processor on a workspace built here, judged by OCR-D's own validators."""

import json
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import drmamba
from drmamba.config import EngineConfig, InferenceConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of OCR-D and what it stands on
    ocrd = pytest.importorskip("ocrd", reason='no OCR-D here: pip install "drmamba[ocrd]"')
    from ocrd_modelfactory import page_from_file
    from ocrd_models.ocrd_page import CoordsType, TextLineType, TextRegionType, to_xml
    from ocrd_validators import OcrdToolValidator, WorkspaceValidator

    from drmamba.integrations.ocrd import EXECUTABLE, DRMambaBinarize

sys.path.append(str(Path(__file__).parents[1] / "inference"))
from stand_in import binarizer, text_page

pytestmark = pytest.mark.filterwarnings("ignore")
TOOL = Path(drmamba.__file__).parent / "integrations" / "ocrd-tool.json"
CLI = [sys.executable, "-c", "from drmamba.cli.ocrd import main; main()"]
LEFT, TOP, RIGHT, BOTTOM = 20, 10, 180, 90


@pytest.fixture
def dark(monkeypatch):
    """A model that takes what is dark for ink."""

    def from_pretrained(model, config, engine):  # noqa: ARG001
        return binarizer(config, workers=engine.workers or 1)

    monkeypatch.setattr("drmamba.integrations.ocrd.Binarizer.from_pretrained", from_pretrained)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Two scanned pages at 300 dpi, the way `ocrd workspace` puts them there."""
    monkeypatch.chdir(tmp_path)  # file names in a METS are relative to it
    space = ocrd.Resolver().workspace_from_nothing(directory=str(tmp_path))
    space.mets.unique_identifier = "drmamba-test"
    for number in (1, 2):
        name = f"OCR-D-IMG/IMG_{number}.png"
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(text_page(seed=number)).save(path, dpi=(300, 300))
        space.add_file(
            "OCR-D-IMG",
            file_id=f"IMG_{number}",
            page_id=f"P{number}",
            mimetype="image/png",
            local_filename=name,
        )
    space.save_mets()
    return space


def segmented(space):
    """File group OCR-D-SEG: each page with one region of one line."""
    frame = f"{LEFT},{TOP} {RIGHT},{TOP} {RIGHT},{BOTTOM} {LEFT},{BOTTOM}"
    for file in list(space.find_files(fileGrp="OCR-D-IMG")):
        name = f"SEG_{file.ID}"
        pcgts = page_from_file(file)
        pcgts.set_pcGtsId(name)
        region = TextRegionType(id="r1", Coords=CoordsType(points=frame))
        region.add_TextLine(TextLineType(id="l1", Coords=CoordsType(points=frame)))
        pcgts.get_Page().add_TextRegion(region)
        space.add_file(
            "OCR-D-SEG",
            file_id=name,
            page_id=file.pageId,
            mimetype="application/vnd.prima.page+xml",
            local_filename=f"OCR-D-SEG/{name}.xml",
            content=to_xml(pcgts),
        )
    space.save_mets()


def run(space, source, target="OCR-D-BIN", **parameter):
    ocrd.run_processor(
        DRMambaBinarize, workspace=space, input_file_grp=source, output_file_grp=target, parameter=parameter
    )


def results(space, group="OCR-D-BIN"):
    return [page_from_file(f).get_Page() for f in space.find_files(fileGrp=group, mimetype="//.*xml")]


def assert_valid(space):
    report = WorkspaceValidator.validate(
        ocrd.Resolver(), str(Path(space.directory) / "mets.xml"), page_coordinate_consistency="poly"
    )
    assert report.is_valid, report.to_xml()
    assert not report.errors


def test_the_tool_description_is_valid_and_repeats_the_defaults():
    tool = json.loads(TOOL.read_text())
    report = OcrdToolValidator.validate(json.loads(TOOL.read_text()))
    assert report.is_valid, report.to_xml()
    assert tool["version"] == drmamba.__version__
    given = {name: p["default"] for name, p in tool["tools"][EXECUTABLE]["parameters"].items()}
    wanted, engine = InferenceConfig(), EngineConfig()
    assert (given["threshold"], given["suppress"]) == (wanted.threshold, wanted.suppress)
    assert (given["keep"], given["context"]) == (wanted.keep, wanted.context)
    assert (given["scale"] or "auto") == wanted.scale
    assert (given["device"], given["workers"]) == (engine.device, engine.workers)


def test_pages(workspace, dark):  # noqa: ARG001
    run(workspace, "OCR-D-IMG")
    assert_valid(workspace)
    pages = results(workspace)
    assert len(pages) == 2
    for number, page in enumerate(pages, 1):
        (image,) = page.get_AlternativeImage()
        assert image.get_comments() == "binarized"
        assert image.get_filename().startswith("OCR-D-BIN/")
        with Image.open(Path(workspace.directory) / image.get_filename()) as picture:
            assert picture.mode == "1"
            assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
            want = binarizer()(text_page(seed=number)).binary
            assert want.any()
            assert np.array_equal(~np.asarray(picture), want)
    agents = [agent.name for agent in workspace.mets.agents]
    assert any(name.startswith(EXECUTABLE) for name in agents)
    images = list(workspace.find_files(fileGrp="OCR-D-BIN", mimetype="image/png"))
    assert sorted(file.pageId for file in images) == ["P1", "P2"]


@pytest.mark.parametrize("level", ["region", "line"])
def test_regions_and_lines(workspace, dark, level):  # noqa: ARG001
    segmented(workspace)
    run(workspace, "OCR-D-SEG", operation_level=level)
    assert_valid(workspace)
    for page in results(workspace):
        (region,) = page.get_TextRegion()
        (line,) = region.get_TextLine()
        owner, other = (region, line) if level == "region" else (line, region)
        assert not page.get_AlternativeImage()
        assert not other.get_AlternativeImage()
        (image,) = owner.get_AlternativeImage()
        assert "binarized" in image.get_comments().split(",")
        with Image.open(Path(workspace.directory) / image.get_filename()) as picture:
            assert picture.size == (RIGHT - LEFT, BOTTOM - TOP)
            assert not np.asarray(picture).all()


def test_a_binarized_image_is_not_binarized_again(workspace, dark):  # noqa: ARG001
    run(workspace, "OCR-D-IMG")
    run(workspace, "OCR-D-BIN", "OCR-D-BIN2", threshold=0.6)
    assert_valid(workspace)
    for page in results(workspace, "OCR-D-BIN2"):
        assert [image.get_comments() for image in page.get_AlternativeImage()] == ["binarized", "binarized"]


def test_a_page_without_regions_is_passed_on(workspace, dark):  # noqa: ARG001
    run(workspace, "OCR-D-IMG", operation_level="line")
    assert len(results(workspace)) == 2
    assert not list(workspace.find_files(fileGrp="OCR-D-BIN", mimetype="image/png"))


def test_shutdown_waits_for_nobody(workspace, dark, monkeypatch):  # noqa: ARG001
    """OCR-D calls it from `__del__`: a wait for threads inside the garbage collector can be for ever."""
    processor = DRMambaBinarize(workspace)
    processor.parameter = {}  # sets the processor up
    assert processor.binarizer is not None

    def join(thread, timeout=None):  # noqa: ARG001
        pytest.fail(f"waited for {thread.name}")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", join)
        processor.shutdown()
    assert processor.binarizer is None


def test_the_command_prints_its_description():
    done = subprocess.run([*CLI, "--dump-json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == ["preprocessing/optimization/binarization"]


def test_a_wrong_model_is_one_line(workspace):
    command = [*CLI, "-I", "OCR-D-IMG", "-O", "OCR-D-BIN", "-P", "model", "no-such.safetensors"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=workspace.directory)
    assert done.returncode == 2
    assert "no-such.safetensors" in done.stderr.splitlines()[-1]
