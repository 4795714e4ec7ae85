"""Errors about limits name the option to change, on the command line only."""

import pickle

import pytest

from drmamba.cli.remedies import remedy
from drmamba.errors import DecoderCrashError, ImageError, MemoryLimitError, PixelLimitError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PixelLimitError("large", 400, 100), "see --max-pixels"),
        (MemoryLimitError("large", 190_000_000, 100_000_000), "raise --max-memory by 100 MB"),
        (MemoryLimitError("large"), "raise --max-memory"),
        (DecoderCrashError("crash"), "if it is not damaged, raise --max-memory"),
        (ImageError("damaged"), ""),
        (OSError("other"), ""),
    ],
)
def test_the_option_is_named(error, words):
    assert remedy(error) == words
    assert "--" not in str(error)


def test_limits_survive_the_way_between_processes():
    error = pickle.loads(pickle.dumps(MemoryLimitError("large", 3, 2)))
    assert (str(error), error.value, error.limit) == ("large", 3, 2)
