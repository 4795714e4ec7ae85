"""The network DR-Mamba and its parts: encoders, decoder, dual-route block, page context and reconstruction."""
