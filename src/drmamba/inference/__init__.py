"""From pages to black-and-white pages: windows, blending, thresholds, and what to say about the result."""
