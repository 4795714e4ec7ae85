"""`drmamba average`: wrong calls are named before anything is read."""

import pytest
from click.testing import CliRunner

from drmamba.cli import group
from drmamba.errors import ConfigError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.safetensors", "-o", "mean.safetensors"], "a.safetensors is one model"),
        (["a.safetensors", "b.safetensors", "-o", "mean.onnx"], "mean.onnx must end in .safetensors"),
        (
            ["a.safetensors", "b.safetensors", "--weights", "1", "-o", "m.safetensors"],
            "for each of the 2 models",
        ),
        (["a.safetensors", "b.safetensors", "--weights", "1,no", "-o", "m.safetensors"], "got '1,no'"),
        (["a.safetensors", "b.safetensors", "--weights", "1,-1", "-o", "m.safetensors"], "got '1,-1'"),
    ],
)
def test_wrong_calls_are_named(words, message):
    result = CliRunner().invoke(group, ["average", *words])
    assert isinstance(result.exception, ConfigError)
    assert message in str(result.exception)
