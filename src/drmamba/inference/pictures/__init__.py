"""Pictures in tone, such as photographs and halftones: where they are, and what becomes of them."""

from drmamba.inference.pictures.finding import Picture, find_pictures
from drmamba.inference.pictures.rendering import grey_layers, render

__all__ = ["Picture", "find_pictures", "grey_layers", "render"]
