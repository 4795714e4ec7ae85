"""Why a page came out as it did: the maps of the network over the page, and figures of them."""

from drmamba.inference.explain.exploration import Explanation, Exploration, Map

__all__ = ["Exploration", "Explanation", "Map"]
