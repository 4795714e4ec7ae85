"""The counters of the service, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from drmamba.errors import MissingExtra


class Counters:
    """The counters of one running service, in their own registry."""

    def __init__(self, in_hand: Callable[[], float]) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
        except ImportError as error:
            raise MissingExtra("prometheus-client", "web") from error
        self._registry, self._text = CollectorRegistry(), generate_latest
        own = self._registry
        self.requests = Counter("drmamba_requests", "Requests answered.", ["path", "status"], registry=own)
        self.seconds = Histogram(
            "drmamba_request_seconds", "Seconds from the first byte in to the last byte out.", ["path"],
            buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120), registry=own,
        )  # fmt: skip
        self.pages = Counter("drmamba_pages", "Pages binarized.", registry=own)
        self.megapixels = Counter("drmamba_megapixels", "Megapixels binarized.", registry=own)
        self.rejected = Counter(
            "drmamba_rejected", "Requests that were refused because the queue was full.", registry=own
        )
        self.cancelled = Counter(
            "drmamba_cancelled", "Requests whose client disconnected before the end.", registry=own
        )
        Gauge("drmamba_in_hand", "Requests that wait or are in progress.", registry=own).set_function(in_hand)

    def text(self) -> bytes:
        """Return all counters in the text format of Prometheus."""
        return self._text(self._registry)
