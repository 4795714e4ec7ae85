"""The log and its picture."""

from pathlib import Path

from PIL import Image

from drmamba.training.learner import UpdateRecord
from drmamba.training.log import COLUMNS, TrainingLog, draw_curve, read_log, smooth


def report(loss: float) -> UpdateRecord:
    return UpdateRecord(loss=loss, parts={"sdf": loss / 2, "bce": loss / 4}, norm=1.0, rate=1e-3)


def test_rows_that_a_resumed_run_repeats_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = TrainingLog(path)
    for step in range(1, 6):
        log.write(step, step * 2.0, step / 10, report(1 / step))
    log.validated(5, 10.0, 0.5, 77.125)
    log.close()
    resumed = TrainingLog(path, step=3)
    resumed.write(4, 8.0, 0.4, report(0.5))
    resumed.close()
    rows = read_log(path)
    assert [row["step"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[3]["loss"] == "0.5"
    assert rows[3]["sdf"] == "0.25"
    assert tuple(rows[0]) == COLUMNS


def test_curve_is_a_picture(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path / "log.csv")
    for step in range(1, 40):
        log.write(step, step * 2.0, step / 40, report(1 / step))
    log.validated(39, 80.0, 1.0, 77.125)
    log.close()
    draw_curve(tmp_path / "log.csv", tmp_path / "curve.png")
    with Image.open(tmp_path / "curve.png") as picture:
        assert picture.width > 600
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 10


def test_smooth_is_a_mean_of_the_last_twentieth() -> None:
    assert smooth([4.0, 2.0]) == [4.0, 2.0]
    assert smooth([float(i) for i in range(41)])[40] == 39.0  # the mean of 38, 39 and 40
