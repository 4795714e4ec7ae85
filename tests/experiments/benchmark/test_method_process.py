"""A method in its own process."""

from pathlib import Path

import pytest

from drmamba.experiments.benchmark.method_process import MethodError, MethodProcess

pytest.importorskip("doxapy")


def test_a_crash_costs_one_page(root: Path, tmp_path: Path) -> None:
    with MethodProcess("classical", "otsu", "default") as process:
        image = root / "2009" / "img" / "H01.png"
        process.binarize(image, tmp_path / "a.png")
        process.started().kill()
        with pytest.raises(MethodError, match=r"SIGKILL \(out of memory"):
            process.binarize(image, tmp_path / "b.png")
        assert process.binarize(image, tmp_path / "c.png").pixels == 64 * 96
