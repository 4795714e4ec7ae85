"""The conversion of a file in a store: it is copied to a temporary folder, converted there, and its result uploaded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.records import PageRecord, found_record
from drmamba.scale.stores import FileStore


class StoreConversion:
    """Converts files whose paths are relative to two stores; it is given to a `Batch`."""

    def __init__(self, conversion: FileConversion, source: str, target: str) -> None:
        self.conversion, self.ledger = conversion, conversion.ledger
        self.options, self.progress = conversion.options, conversion.progress
        self.source, self.target = FileStore(source), FileStore(target)

    def records(
        self, job: FileJob, reader: DecoderProcess, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[PageRecord]:
        """Yield the records of a file's pages when the file is uploaded; an error is a record, too."""
        with tempfile.TemporaryDirectory(prefix="drmamba-") as folder:
            here = FileJob(Path(folder) / "in" / job.source, Path(folder) / "out" / job.output)
            try:
                self.source.fetch(job.source.as_posix(), here.source)
                if not self.options.overwrite:
                    self._fetch_results(job, here, reader)
                made = self.conversion.records(here, reader, stopped)
                records = [self._renamed(record, job, folder) for record in made]
                self._upload(job, here, records)
            except (
                Exception
            ) as error:  # the driver of a store may raise anything; a temporary folder may be full
                words = " ".join(f"{self.source.name(job.source.as_posix())}: {error}".split())
                records = [PageRecord(status="failed", input=str(job.source), error=words)]
            yield from records

    def _fetch_results(self, job: FileJob, here: FileJob, reader: DecoderProcess) -> None:
        """Fetch the results that exist, so that the conversion can tell what is finished."""
        for pages in (1, 2):
            if self.target.exists(job.page(1, pages).as_posix()):
                first = self.target.fetch(job.page(1, pages).as_posix(), here.page(1, pages))
                break
        else:
            return
        found = found_record(first, reader)
        pages = found.pages if found else 1
        for number in range(1, pages + 1):
            names = [(job.page(number, pages), here.page(number, pages))] if number > 1 else []
            if self.options.soft:
                names.append((job.soft(number, pages), here.soft(number, pages)))
            for there, to in names:
                if not to.exists() and self.target.exists(there.as_posix()):
                    self.target.fetch(there.as_posix(), to)

    def _upload(self, job: FileJob, here: FileJob, records: list[PageRecord]) -> None:
        """Upload what was made; each page follows its soft companion, so that it never exists without it."""
        sent = set()
        for record in records:
            if record.status != "done":
                continue
            page, pages = record.page, record.pages
            pairs = [(here.page(page, pages), job.page(page, pages))]
            if self.options.soft:
                pairs.insert(0, (here.soft(page, pages), job.soft(page, pages)))
            for made, there in pairs:
                if there not in sent and made.exists():
                    self.target.put(made, there.as_posix())
                    sent.add(there)

    def _renamed(self, record: PageRecord, job: FileJob, folder: str) -> PageRecord:
        """Return the record with the names of the stores in place of temporary ones."""
        places = {f"{folder}/in": self.source.shown, f"{folder}/out": self.target.shown}

        def there(text: str | None) -> str | None:
            for here, store in places.items():
                text = text and text.replace(here, store)
            return text

        return replace(record, input=str(job.source), output=there(record.output), error=there(record.error))
