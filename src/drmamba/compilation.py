"""Functions compiled by numba, with a cache on disk where there is a place for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a function with numba's `njit` and these options.

    Compiled code is cached in the package's folder or in the user's cache folder. If neither can be written to, as in
    a container with a read-only installation, numba refuses to cache; the function is then compiled anew in each
    process. A shared temporary folder is no substitute, because numba would run whatever another user has put there.
    `NUMBA_CACHE_DIR` names a private folder for the cache.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            made: Callable[..., Any] = njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            made = njit(**options)(function)
        return made

    return decorate
