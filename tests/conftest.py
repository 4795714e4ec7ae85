"""Where the real pages are, if they are here."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2] / "shared"


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
