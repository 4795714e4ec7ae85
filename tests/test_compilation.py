"""Compiled functions run where nothing can be cached."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import drmamba
from drmamba import compilation
from drmamba.compilation import compiled


def test_a_function_is_compiled_without_a_cache_if_there_is_no_place_for_one(monkeypatch):
    asked = []

    def njit(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'double': no locator available for file 'x.py'")
        return lambda function: function

    monkeypatch.setattr(compilation, "njit", njit)
    assert compiled(nogil=True)(lambda x: 2 * x)(4) == 8
    assert asked == [{"cache": True, "nogil": True}, {"nogil": True}]


def test_other_errors_of_the_compiler_are_not_hidden(monkeypatch):
    def njit(**_):
        raise RuntimeError("something else")

    monkeypatch.setattr(compilation, "njit", njit)
    with pytest.raises(RuntimeError, match="something else"):
        compiled()(lambda x: x)


@pytest.mark.skipif(sys.platform == "win32", reason="a file cannot stand in for a folder in the same way")
def test_a_module_works_where_neither_its_folder_nor_the_home_can_be_written_to(tmp_path):
    """A file in place of each cache folder keeps even the super-user from writing one."""
    shutil.copy(Path(drmamba.__file__).parent / "data/compositing.py", tmp_path / "module.py")
    (tmp_path / "__pycache__").write_bytes(b"")
    (tmp_path / "home").write_bytes(b"")
    places = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
    program = """
import sys
import numpy as np
import module
ones = np.ones((4, 4, 3), np.float32)
print(module.darkened(ones, np.zeros((4, 4), np.float32), np.zeros(3, np.float32)).sum())
"""
    environment = {
        **os.environ,
        **places,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    found = subprocess.run(
        [sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) == pytest.approx(float(np.ones((4, 4, 3)).sum()))


def test_nothing_is_compiled_in_another_way():
    """`numba.njit(cache=True)` fails in a read-only installation, so only `compilation` may call it."""
    root = Path(drmamba.__file__).parent
    users = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.ImportFrom) and node.module == "numba")
        or (isinstance(node, ast.Import) and any(alias.name == "numba" for alias in node.names))
    }
    assert users == {"compilation.py"}
