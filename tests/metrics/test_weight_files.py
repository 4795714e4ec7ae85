"""Weight maps on disk, in the contest's form."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from drmamba.errors import MetricError
from drmamba.images import read_ink
from drmamba.metrics import read_weights, stored_weights, weight_maps, write_weights

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def truth() -> np.ndarray:
    return read_ink(FIXTURES / "crumbs.png")


def test_what_is_written_reads_back(tmp_path: Path, truth: np.ndarray) -> None:
    maps = weight_maps(truth)
    write_weights(tmp_path, "page", maps)
    again = read_weights(tmp_path, "page", truth)
    assert again is not None
    np.testing.assert_allclose(again.recall, maps.recall, rtol=0, atol=6e-7)
    np.testing.assert_allclose(again.precision, maps.precision, rtol=0, atol=6e-7)


def test_the_files_are_byte_for_byte_the_contests(tmp_path: Path, truth: np.ndarray) -> None:
    write_weights(tmp_path, "crumbs", weight_maps(truth))
    for kind in "RP":
        wanted = gzip.decompress((FIXTURES / f"crumbs_{kind}Weights.dat.gz").read_bytes())
        assert (tmp_path / f"crumbs_{kind}Weights.dat").read_bytes() == wanted


def test_maps_are_made_once_and_then_taken_from_the_folder(tmp_path: Path, truth: np.ndarray) -> None:
    folder = tmp_path / "new"
    assert read_weights(tmp_path, "page", truth) is None
    first = stored_weights(folder, "page", truth)
    path = folder / "page_RWeights.dat"
    changed = np.where(truth, 0.5, 0).astype(np.float32)
    write_weights(folder, "page", type(first)(changed, first.precision))
    np.testing.assert_array_equal(stored_weights(folder, "page", truth).recall, changed)
    assert path.stat().st_size == 10 * truth.size


def test_what_cannot_belong_to_the_page_is_refused(tmp_path: Path, truth: np.ndarray) -> None:
    write_weights(tmp_path, "page", weight_maps(truth))
    with pytest.raises(MetricError, match="made for another ground truth"):
        read_weights(tmp_path, "page", ~truth)
    with pytest.raises(MetricError, match=r"does not hold the 10680 values of a page of 120 x 89"):
        read_weights(tmp_path, "page", truth[:-1])
    path = tmp_path / "page_RWeights.dat"
    good = path.read_bytes()
    for bad, words in (
        (b"nan" + good[8:], "negative, infinite or not a number"),
        (b"-1.00000" + good[8:], "negative, infinite or not a number"),
        (b"a weight" + good[8:], "is not a weight map"),
        (good * 9, "does not hold"),
        (b"", "does not hold"),
    ):
        path.write_bytes(bad)
        with pytest.raises(MetricError, match=words):
            read_weights(tmp_path, "page", truth)
    path.unlink()
    with pytest.raises(MetricError, match=r"RWeights\.dat is missing"):
        read_weights(tmp_path, "page", truth)
    (tmp_path / "page_RWeights.dat.gz").write_bytes(b"\x1f\x8b not gzip")
    with pytest.raises(MetricError, match="cannot be read"):
        read_weights(tmp_path, "page", truth)
