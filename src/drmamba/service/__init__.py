"""A web page and an HTTP API in one process; needs the extra `web`."""
