"""Letters drawn once and lines put together from them look as if the line were drawn at once."""

import numpy as np
import pytest

from drmamba.data.synthetic import fonts
from drmamba.data.synthetic.galley import Galley, column, headline
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.texts import SCRIPTS, Script
from drmamba.data.synthetic.typecase import Face, set_type, some_words, sort


def face_for(script: Script) -> Face:
    file = fonts.Fonts().pick(np.random.default_rng(0), script)
    if file is None:
        pytest.skip(f"no font here sets {script}")
    return Face(file, script)


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_line_of_pieces_is_the_line(script: Script) -> None:
    face = face_for(script)
    text = some_words(np.random.default_rng(1), face, 3)
    pieces, whole = set_type(face, 30, text), sort(face, 30, text).picture * np.float32(1 / 255)
    assert pieces.shape[0] == whole.shape[0]
    assert abs(pieces.shape[1] - whole.shape[1]) < 0.06 * whole.shape[1] + 4  # kerning apart
    assert abs(float(pieces.sum()) - float(whole.sum())) < 0.05 * float(whole.sum())


def test_fonts_that_lack_a_script_set_no_word_of_it() -> None:
    assert fonts.settable(fonts.BUILT_IN, "cjk") == ()
    assert fonts.settable(fonts.BUILT_IN, "ethiopic") == ()
    assert fonts.settable(fonts.BUILT_IN, "devanagari") == ()
    assert len(fonts.settable(fonts.BUILT_IN, "latin")) > fonts.FEWEST


def test_lines_of_a_galley_fit_and_justified_ones_fill_the_measure() -> None:
    rng = np.random.default_rng(0)
    plate = Plate((400, 400), Box(0, 0, 400, 400))
    galley = Galley(rng, face_for("latin"), 14, plate, 200)
    for _ in range(20):
        assert galley.line(rng, 200).shape[1] <= 200
    full = [galley.line(rng, 200, justified=True).shape[1] == 200 for _ in range(20)]
    assert np.mean(full) > 0.7


def test_a_column_stays_inside_its_box_and_headlines_are_large() -> None:
    rng = np.random.default_rng(0)
    plate = Plate((300, 300), Box(0, 0, 300, 300))
    galley = Galley(rng, face_for("latin"), 12, plate, 150)
    column(plate, galley, rng, Box(100, 100, 250, 200), pitch=15)
    ink = plate.canvas("text") > 0.5
    assert ink[95:205, 98:252].sum() == ink.sum() > 0
    assert headline(plate, rng, face_for("latin"), plate.page, 90) > 3 * 12
