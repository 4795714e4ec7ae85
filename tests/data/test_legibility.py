"""Legibility: invisible ink is distinguished from ink that can be seen, and pages are degraded anew until it can."""

import numpy as np
import pytest

from drmamba.config import DegradeConfig
from drmamba.data import degrade as degradations
from drmamba.data.degrade import TRIES, degrade
from drmamba.data.degrade.legibility import legible
from drmamba.data.page import LabelledPage


def page(paper: float = 0.8, ink: float = 0.3, noise: float = 0.02, *, blank: bool = False) -> LabelledPage:
    """Horizontal strokes of four pixels in every sixteen."""
    rng = np.random.default_rng(0)
    truth = np.zeros((256, 320), np.bool_)
    if not blank:
        truth[np.arange(256) % 16 < 4] = True
    image = np.where(truth[..., None], ink, paper) + noise * rng.standard_normal((256, 320, 1))
    return LabelledPage(np.broadcast_to(image, (256, 320, 3)).astype(np.float32), truth)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (page(), True),
        (page(ink=0.68), True),  # pale, but even
        (page(ink=0.76), False),  # too pale
        (page(ink=0.6, noise=0.3), False),  # darker, but lost in the noise
        (page(ink=0.9), False),  # lighter than its paper
        (page(blank=True), True),
    ],
)
def test_ink_is_legible_if_it_differs_enough_from_paper_and_noise(made: LabelledPage, expected: bool) -> None:
    assert legible(made) is expected


def test_a_page_that_is_legible_in_its_greater_part_only_is_not() -> None:
    good, bad = page(), page(ink=0.78)
    image = np.concatenate([good.image, bad.image[:128]])
    assert not legible(LabelledPage(image, np.concatenate([good.ink, bad.ink[:128]])))


def test_a_page_smaller_than_a_block_is_not_judged() -> None:
    small = page(ink=0.79)
    assert legible(LabelledPage(small.image[:40, :40], small.ink[:40, :40]))


def test_on_a_pale_page_paler_ink_is_legible() -> None:
    pale = page(ink=0.76, noise=0.01)
    assert not legible(pale)
    assert legible(pale, least_contrast=0.03)
    assert not legible(pale, least_contrast=0.05)


class Faded:
    """A degradation that makes the ink invisible the first times."""

    def __init__(self, times: int) -> None:
        self.times, self.calls = times, 0

    def __call__(self, before: LabelledPage, *_: object) -> LabelledPage:
        self.calls += 1
        return page(ink=0.79) if self.calls <= self.times else before


@pytest.mark.parametrize(("times", "calls"), [(0, 1), (2, 3), (9, TRIES)])
def test_a_page_is_degraded_anew_until_it_is_legible(
    times: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    faded = Faded(times)
    monkeypatch.setitem(degradations.DEGRADATIONS, "faint", faded)
    only = DegradeConfig(**{name: float(name == "faint") for name in degradations.DEGRADATIONS}, untouched=0)
    source: degradations.MaterialSource = None  # type: ignore[assignment]
    result = degrade(page(), np.random.default_rng(0), only, source)
    assert faded.calls == calls
    assert legible(result)


@pytest.mark.parametrize(("name", "expected"), [("washed_out", True), ("faint", False), ("pale", True)])
def test_what_fades_ink_may_leave_less_of_it(
    name: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it is enough where pale ink is the point; otherwise pages with very pale patches are refused."""
    pale = page(ink=0.745, noise=0.01)
    monkeypatch.setitem(degradations.DEGRADATIONS, name, lambda *_: pale)
    only = DegradeConfig(**{other: float(other == name) for other in degradations.DEGRADATIONS}, untouched=0)
    source: degradations.MaterialSource = None  # type: ignore[assignment]
    result = degrade(page(), np.random.default_rng(0), only, source)
    assert (result is pale) == expected
