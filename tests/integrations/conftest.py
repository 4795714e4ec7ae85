"""Models that are exported once for all tests."""

import pytest


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The model that ships, or an untrained one while there is none, as the command exports it."""
    from click.testing import CliRunner

    from drmamba.cli import group

    path = tmp_path_factory.mktemp("onnx") / "lite.onnx"
    result = CliRunner().invoke(group, ["export", "--format", "onnx", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "wrote" in result.stderr
    return path


@pytest.fixture(scope="session")
def contextual(tmp_path_factory):
    """An untrained `lite` that sees its page and knows both conventions, in torch and exported."""
    import torch
    from exported_models import expressive

    from drmamba.checkpoint import Provenance
    from drmamba.config import preset
    from drmamba.integrations import onnx as exporting
    from drmamba.model.network import DRMamba

    torch.manual_seed(4)
    network = expressive(DRMamba(preset("lite")))
    path = tmp_path_factory.mktemp("contextual") / "lite.onnx"
    path.write_bytes(exporting.convert(network, Provenance(preset="lite")))
    return network, path
