"""Runs compiled kernels on several threads.

Kernels release the interpreter lock and run on this module's own pool, because numba's `prange` may not be entered from
two Python threads at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch


def run_shared(kernel: Callable[..., None], tasks: int, *arrays: np.ndarray[Any, Any]) -> None:
    """Call `kernel(first, last, *arrays)` for shares of the tasks, on as many threads as torch uses."""
    threads = min(torch.get_num_threads(), tasks)
    if not threads:
        return
    cuts = [tasks * i // threads for i in range(threads + 1)]
    pool = _pool(os.getpid(), threads)
    shares = [pool.submit(kernel, low, high, *arrays) for low, high in pairwise(cuts[1:])]
    kernel(0, cuts[1], *arrays)
    for share in shares:
        share.result()


@lru_cache(maxsize=4)
def _pool(pid: int, threads: int) -> ThreadPoolExecutor:  # noqa: ARG001  a forked process needs its own threads
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="drmamba-kernel")
