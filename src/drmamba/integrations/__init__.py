"""Other programs that meet pages or models of this package: each file knows one of them."""
