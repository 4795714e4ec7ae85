"""Whether bfloat16 pays on a device, and a guard against processors whose AMX instructions fail."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import torch

ISA_LIMIT = "ONEDNN_MAX_CPU_ISA"  # environment variable that limits the instructions oneDNN uses
WITHOUT_AMX = "AVX512_CORE_FP16"
PROBE = "import torch; a = torch.ones(8, 256, 256, dtype=torch.bfloat16); torch.bmm(a, a)"
PROBE_SECONDS = 120  # after this time AMX counts as unusable


def has_bfloat16(device: torch.device) -> bool:
    """Return whether the hardware computes in bfloat16 itself; elsewhere it is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    if torch.cpu._is_amx_tile_supported():
        return amx_works()
    return bool(torch.cpu._is_avx512_bf16_supported())


@cache
def amx_works() -> bool:
    """Return whether AMX instructions run; if they do not, keep oneDNN from using them in this process.

    Some virtual machines report AMX and end a process at its first tile instruction, which no exception handler
    sees. Another process therefore tries one. oneDNN reads the variable at its first use.
    """
    if ISA_LIMIT in os.environ:
        return "AMX" in os.environ[ISA_LIMIT].upper()
    try:
        tried = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, timeout=PROBE_SECONDS)
        works = tried.returncode == 0
    except subprocess.TimeoutExpired:
        works = False
    if not works:
        os.environ[ISA_LIMIT] = WITHOUT_AMX
    return works
