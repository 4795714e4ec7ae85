"""From pages to black-and-white pages, in four steps: analysis, view, runtime and tiling; `binarizer` joins them."""
