"""A data set that worker processes can import."""

import torch
from torch.utils.data import Dataset


class Numbers(Dataset[dict[str, torch.Tensor]]):
    """Item i is i; one of them is broken."""

    def __init__(self, broken: int = -1) -> None:
        self.broken = broken

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if index == self.broken:
            raise RuntimeError("this page is broken")
        return {"image": torch.tensor(float(index))}
