"""What a page looks like. Everything here measures; nothing here changes a pixel."""

from drmamba.inference.analysis.page import PageAnalysis, analyse_page

__all__ = ["PageAnalysis", "analyse_page"]
