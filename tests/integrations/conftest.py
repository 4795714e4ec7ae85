"""Models that are exported once for all tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The embedded model, which the command exported, in another place."""
    import shutil

    from drmamba import checkpoint

    path = checkpoint.embedded("lite", ".onnx")
    assert path is not None, "write it with: drmamba export --format onnx -o src/drmamba/weights/lite.onnx"
    return Path(shutil.copy(path, tmp_path_factory.mktemp("onnx")))


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
    for parameter in network.context.parameters():  # deep features are small in an untrained encoder
        parameter.data *= 3
    path = tmp_path_factory.mktemp("contextual") / "lite.onnx"
    path.write_bytes(exporting.convert(network, Provenance(preset="lite")))
    return network, path
