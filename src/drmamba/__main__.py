"""`python -m drmamba` is the command line."""

from drmamba.cli import main

main()
