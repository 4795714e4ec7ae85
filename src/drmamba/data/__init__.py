"""Training data: real pairs by contest year, degradations, synthetic pages, and the crops made from them."""
