"""Pages to train on: real pairs by year, degradations, synthetic pages and the crops made of them."""
