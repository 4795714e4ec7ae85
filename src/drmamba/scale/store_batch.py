"""The local engine's batch over stores: a file comes to a temporary folder, is done there, and goes back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.batch import Batch, BatchOptions
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.jobs import Job
from drmamba.inference.records import PageRecord, found_record
from drmamba.scale.stores import Store


class StoreBatch(Batch):
    """A batch whose jobs' paths are relative to two stores."""

    def __init__(self, binarizer: Binarizer, options: BatchOptions | None, source: str, target: str) -> None:
        super().__init__(binarizer, options)
        self.source, self.target = Store(source), Store(target)

    def _file(self, job: Job, reader: DecoderProcess) -> Iterator[PageRecord]:
        with tempfile.TemporaryDirectory(prefix="drmamba-") as folder:
            here = Job(Path(folder) / "in" / job.source, Path(folder) / "out" / job.output)
            try:
                self.source.fetch(job.source.as_posix(), here.source)
                if not self.options.overwrite:
                    self._fetch_results(job, here)
                records = [self._renamed(record, job, folder) for record in super()._file(here, reader)]
                self._upload(job, here, records)
            except (
                Exception
            ) as error:  # the store, whose driver raises what it likes, or a full temporary folder
                words = " ".join(f"{self.source.name(job.source.as_posix())}: {error}".split())
                records = [PageRecord(status="failed", input=str(job.source), error=words)]
            yield from records

    def _fetch_results(self, job: Job, here: Job) -> None:
        """Bring the results that exist, so that the batch can tell what is finished."""
        for pages in (1, 2):
            if self.target.exists(job.page(1, pages).as_posix()):
                first = self.target.fetch(job.page(1, pages).as_posix(), here.page(1, pages))
                break
        else:
            return
        found = found_record(first)
        pages = found.pages if found else 1
        for number in range(1, pages + 1):
            names = [(job.page(number, pages), here.page(number, pages))] if number > 1 else []
            if self.options.soft:
                names.append((job.soft(number, pages), here.soft(number, pages)))
            for there, to in names:
                if not to.exists() and self.target.exists(there.as_posix()):
                    self.target.fetch(there.as_posix(), to)

    def _upload(self, job: Job, here: Job, records: list[PageRecord]) -> None:
        """Bring what was made; a page after its soft companion: where the page is, that one is too."""
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

    def _renamed(self, record: PageRecord, job: Job, folder: str) -> PageRecord:
        """The record with the stores' names in place of temporary ones."""
        places = {f"{folder}/in": self.source.shown, f"{folder}/out": self.target.shown}

        def there(text: str | None) -> str | None:
            for here, store in places.items():
                text = text and text.replace(here, store)
            return text

        return replace(record, input=str(job.source), output=there(record.output), error=there(record.error))
