"""The selective scans: two functions, and four backends that compute the same values and gradients.

    reference   one token at a time, in torch; the others are tested against it
    chunked     plain torch on any device
    numba       CPU, compiled at first use and cached on disk
    triton      CUDA

`auto` takes triton for CUDA tensors, numba for CPU tensors, and chunked where those cannot run. A backend that is
requested by name runs or raises; it is never replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import get_args

import torch
from torch import Tensor

from drmamba.config import Backend
from drmamba.errors import BackendError, InputError
from drmamba.ops.orders import scan_orders

__all__ = ["available", "choose_backend", "dual_route_scan", "linear_scan", "scan_flops", "scan_orders"]

_MODULES = {
    "reference": "drmamba.ops.reference",
    "chunked": "drmamba.ops.chunked",
    "numba": "drmamba.ops.cpu",
    "triton": "drmamba.ops.triton",
}


def linear_scan(a: Tensor, b: Tensor, order: Tensor, *, backend: Backend = "auto") -> Tensor:
    """Run h_t = a_t h_{t-1} + b_t along one order, from a zero state.

    a: (B, T, d), in [0, 1]   b: (B, T, d)   order: (T,) permutation   ->   h: (B, T, d)
    """
    _check({"a": a, "b": b}, order[None] if order.ndim == 1 else order)
    return _run("linear_scan", backend, (a, b), order)


def dual_route_scan(
    s: Tensor,
    g: Tensor,
    delta: Tensor,
    beta: Tensor,
    A_D: Tensor,
    A_B: Tensor,
    orders: Tensor,
    *,
    backend: Backend = "auto",
) -> Tensor:
    """Scan both routes, fuse them as O = D - beta*B and sum over the orders: Eqs. (8)-(12).

    s, g, delta, beta: (B, T, d)   A_D, A_B: (d,)   orders: (R, T) permutations   ->   O: (B, T, d)
    """
    _check({"s": s, "g": g, "delta": delta, "beta": beta}, orders, {"A_D": A_D, "A_B": A_B})
    return _run("dual_route_scan", backend, (s, g, delta, beta, A_D, A_B), orders)


def scan_flops(tokens: int, width: int, directions: int, routes: int = 2) -> int:
    """The operations of the dual-route scan, where a multiply, an add and an exp count as one operation each.

    There are 5 per token, channel and route: delta*A, exp, the gated input, and two for a*h + b. B also needs 1 - s,
    and the fusion a multiply, a subtraction and the sum over orders.
    """
    return tokens * width * directions * (5 * routes + (4 if routes == 2 else 1))


def available() -> dict[str, str]:
    """Every backend with "yes" or the reason why it cannot run here."""
    return {name: _load(name)[1] or "yes" for name in _MODULES}


def choose_backend(backend: Backend, device: torch.device, dtype: torch.dtype = torch.float32) -> str:
    """The name of the backend that will run; raises if one that is requested by name cannot."""
    if backend == "auto":
        if torch.compiler.is_exporting() or device.type not in ("cpu", "cuda") or dtype == torch.float64:
            return "chunked"
        wanted = "triton" if device.type == "cuda" else "numba"
        return "chunked" if _load(wanted)[1] else wanted
    if backend not in get_args(Backend):
        raise BackendError(f"there is no scan backend {backend!r}; there are auto, {', '.join(_MODULES)}")
    reason = _load(backend)[1]
    if reason:
        raise BackendError(f"the scan backend {backend!r} cannot run here: {reason}")
    if backend == "numba" and device.type != "cpu":
        raise BackendError(
            f"the scan backend 'numba' runs on CPU tensors, got {device}; use 'triton' or 'auto'"
        )
    if backend in ("numba", "triton") and dtype == torch.float64:
        raise BackendError(
            f"the scan backend {backend!r} works in float32; for float64 use 'chunked' or 'reference'"
        )
    return backend


@cache
def _load(name: str) -> tuple[ModuleType | None, str]:
    """The backend's module, and the reason why it cannot run, if any."""
    try:
        module = import_module(_MODULES[name])
    except ImportError as error:
        return None, str(error)
    probe: Callable[[], str] = getattr(module, "reason_not_to_run", str)
    return module, probe()


def _run(function: str, backend: Backend, values: tuple[Tensor, ...], order: Tensor) -> Tensor:
    kind = values[0].dtype
    module, _ = _load(choose_backend(backend, values[0].device, kind))
    # States are float32, which autocast does not change, because it narrows no operation of a scan; float64 stays.
    wide = torch.float64 if kind == torch.float64 else torch.float32
    result: Tensor = getattr(module, function)(*(v.to(wide) for v in values), order.to(values[0].device))
    return result


def _check(maps: dict[str, Tensor], orders: Tensor, rates: dict[str, Tensor] | None = None) -> None:
    first, like = next(iter(maps.items()))
    if like.ndim != 3 or like.shape[1] == 0:
        raise InputError(f"{first} must have the shape (batch, tokens, width), got {tuple(like.shape)}")
    for name, value in maps.items():
        if value.shape != like.shape:
            raise InputError(
                f"{name} must have the shape of {first}, {tuple(like.shape)}, got {tuple(value.shape)}"
            )
    for name, value in (rates or {}).items():
        if value.shape != like.shape[-1:]:
            raise InputError(f"{name} must have the shape ({like.shape[-1]},), got {tuple(value.shape)}")
    for name, value in {**maps, **(rates or {})}.items():
        if not value.is_floating_point():
            raise InputError(f"{name} must be floating point, got {value.dtype}")
        if value.device != like.device:
            raise InputError(f"{name} is on {value.device} but {first} on {like.device}; move them together")
    if orders.ndim != 2 or orders.shape[1] != like.shape[1] or orders.dtype != torch.int64:
        raise InputError(
            f"orders must be int64 permutations of {like.shape[1]} tokens, "
            f"got {orders.dtype} of shape {tuple(orders.shape)}"
        )
