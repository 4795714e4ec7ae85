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
    for module in network.context.modules():  # without statistics the features of a random network fade
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    network.train().look(torch.rand(1, 3, 96, 96))
    network.eval()
    path = tmp_path_factory.mktemp("contextual") / "lite.onnx"
    path.write_bytes(exporting.convert(network, Provenance(preset="lite")))
    return network, path
