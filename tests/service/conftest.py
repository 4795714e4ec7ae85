"""A running service that the tests of a file share."""

import pytest


@pytest.fixture(scope="module")
def dark():
    """A service with a network of one line."""
    from running_service import dark_binarizer, running  # skips where the extra web is missing

    with dark_binarizer() as binarizer, running(binarizer) as server:
        yield server
