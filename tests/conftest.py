"""Where the real pages are, if they are here; which fonts tests draw with; and `pytest --full`."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

FULL = "DRMAMBA_FULL"  # test files read it when they are imported, after the options
BESIDE = Path(__file__).parents[2] / "shared"
NO_FONTS = str(Path(__file__).parent)  # a folder without a folder `fonts`
FONT_PLACES = {place: os.environ.get(place) for place in ("XDG_DATA_DIRS", "XDG_DATA_HOME")}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options for the long rounds of fault, load and fuzz tests, which take an hour or so."""
    parser.addoption("--full", action="store_true", help="full rounds of kills, damaged files and requests")
    parser.addoption("--fuzz-minutes", type=float, default=0.0, help="minutes that all fuzz targets share")


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment before test files are collected, so that tests do the same on every machine.

    Child processes inherit the environment, so they too see only the fonts that come with matplotlib, and do not ask
    the Hub.
    """
    os.environ.update(dict.fromkeys(FONT_PLACES, NO_FONTS))
    os.environ["HF_HUB_OFFLINE"] = "1"
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Several tests run at once; threads that wait for each other inside every operation would double their time.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if config.getoption("--full"):
        os.environ[FULL] = "1"
    if config.getoption("--fuzz-minutes"):
        os.environ["DRMAMBA_FUZZ_MINUTES"] = str(config.getoption("--fuzz-minutes"))


@pytest.fixture(scope="session", autouse=True)
def usable_instructions() -> None:
    """Keep tests in bfloat16 from ending pytest where the processor reports AMX and cannot run it."""
    if importlib.util.find_spec("torch"):
        import torch

        from drmamba.ops.bfloat16 import has_bfloat16

        has_bfloat16(torch.device("cpu"))


SMALL_ENCODER = ((2, 2, 2, 2), (8, 16, 24, 32))  # depths and widths of the stages


@pytest.fixture(scope="module")
def small_encoder() -> Iterator[None]:
    """Let `convnext_atto` be a hundred times smaller in this process, where its size is not what is tested."""
    from drmamba.model.convnext import SIZES

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "convnext_atto", SMALL_ENCODER)
        yield


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The DIBCO pages: the folder that DRMAMBA_DATA names, or one beside the checkout."""
    root = Path(os.environ.get("DRMAMBA_DATA", BESIDE / "data" / "dibco"))
    if not root.is_dir():
        pytest.skip("no DIBCO pages here: set DRMAMBA_DATA to a folder of years")
    return root


@pytest.fixture(scope="session")
def oracle_root() -> Path:
    """Scores and weight maps made by the contest's own tools."""
    root = Path(os.environ.get("DRMAMBA_ORACLE", BESIDE / "oracle"))
    if not root.is_dir():
        pytest.skip("no oracle scores here: set DRMAMBA_ORACLE to their folder")
    return root


@pytest.fixture
def system_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test use the fonts of this machine, which differ from one machine to the next."""
    for place, folders in FONT_PLACES.items():
        if folders is None:
            monkeypatch.delenv(place)
        else:
            monkeypatch.setenv(place, folders)
