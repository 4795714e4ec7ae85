"""Jobs: uploads whose pages are converted one after the other while the client looks, asks or goes away."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from drmamba.service.answers import page_facts
from drmamba.service.engine import ConversionRequest, FileOutcome, PageOutcome
from drmamba.service.problems import KNOWN, Problem, internal_error
from drmamba.service.progress import Cancelled, WorkProgress
from drmamba.service.service import ReceivedUploads, Service
from drmamba.service.settings import RequestSettings

Status = Literal["waiting", "working", "done", "cancelled", "failed"]
MAX_JOBS = 200  # jobs that are kept; the oldest one that is done makes room for a new one
GONE = "there is no such job; jobs expire, and a new upload replaces the one before"


@dataclass
class JobFile:
    """One file of a job, as far as it is converted."""

    name: str
    pages: list[PageOutcome] = field(default_factory=list)
    done: bool = False
    problem: Problem | None = None


@dataclass
class Job:
    """Uploads, their settings, and the results so far."""

    uploads: ReceivedUploads
    settings: RequestSettings
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    run: int = 0  # grows when the settings change
    status: Status = "waiting"
    problem: Problem | None = None  # if the status is failed
    files: list[JobFile] = field(default_factory=list)
    request: ConversionRequest | None = None
    task: asyncio.Task[None] | None = None
    touched: float = field(default_factory=time.monotonic)  # when somebody asked about it
    exploration: WorkProgress | None = None  # of a page that is being explained
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the settings change

    @property
    def working(self) -> bool:
        """Whether work is left."""
        return self.status in ("waiting", "working")

    def file(self, number: int) -> JobFile:
        """Return a file by its number, counted from 1."""
        if not 1 <= number <= len(self.files):
            raise Problem(404, "gone", f"the job has no file {number}")
        return self.files[number - 1]

    def page(self, file: int, number: int) -> PageOutcome:
        """Return a finished page by its numbers, counted from 1."""
        found = next((p for p in self.file(file).pages if p.record.page == number), None)
        if found is None:
            raise Problem(404, "gone", f"page {number} is not there, or not yet")
        if found.problem is not None:
            raise Problem(404, "gone", found.problem.detail)
        return found

    def progress(self) -> dict[str, Any]:
        """Return how far the job is; this is small, so that it can be asked for often."""
        watched = self.request.watch.progress if self.request else WorkProgress()
        return {
            "id": self.id,
            "run": self.run,
            "status": self.status,
            "problem": self.problem.body() if self.problem else None,
            "finished": sum(len(file.pages) + file.done for file in self.files),
            "progress": watched.to_dict(len(self.files)),
            "exploration": self.exploration.to_dict(1) if self.exploration else None,
        }

    def facts(self, keep_seconds: float) -> dict[str, Any]:
        """Return all that is known about the job."""
        expires = datetime.now(UTC) + timedelta(seconds=keep_seconds)
        return self.progress() | {
            "expires": expires.isoformat(timespec="seconds"),
            "settings": self.settings.to_dict(),
            "files": [self._file_facts(number) for number in range(1, len(self.files) + 1)],
        }

    def _file_facts(self, number: int) -> dict[str, Any]:
        file = self.files[number - 1]
        status = "failed" if file.problem else "done" if file.done else "working"
        pages = [
            page_facts(page) | {"address": f"/v1/jobs/{self.id}/files/{number}/pages/{page.record.page}"}
            for page in file.pages
        ]
        problem = file.problem.body() if file.problem else None
        return {"name": file.name, "status": status, "problem": problem, "pages": pages}


class JobBook:
    """All jobs of a service; only the event loop's thread uses it."""

    def __init__(self, service: Service, dropped: Callable[[Job], object] = lambda _: None) -> None:
        self.service, self._dropped = service, dropped
        self.jobs: dict[str, Job] = {}  # the oldest first
        service.quota.make_room = self.make_room

    def add(self, uploads: ReceivedUploads, settings: RequestSettings) -> Job:
        """Start a job with files that have been received."""
        job = Job(uploads, settings)
        self._start(job)
        while len(self.jobs) >= MAX_JOBS and self.make_room(0):
            continue
        self.jobs[job.id] = job
        return job

    def get(self, name: str) -> Job:
        """Return a job by its name, which lives on because somebody asked for it."""
        self.sweep()
        job = self.jobs.get(name)
        if job is not None and not job.uploads.folder.is_dir():  # removed by a cleaner of temporary folders
            self.drop(job)
            job = None
        if job is None:
            raise Problem(404, "gone", GONE)
        job.touched = time.monotonic()
        return job

    async def restart(self, job: Job, settings: RequestSettings) -> None:
        """Convert the files of a job again with other settings; work in progress ends first."""
        async with job.changing:
            if job.working:
                await self.stop(job)
            if job.id not in self.jobs:
                raise Problem(404, "gone", GONE)
            old, before = job.request, job.settings
            job.settings = settings
            try:
                self._start(job)
            except BaseException:
                job.settings = before
                raise
            if old is not None:
                shutil.rmtree(old.folder, ignore_errors=True)
            self._dropped(job)

    async def stop(self, job: Job) -> None:
        """Cancel the work on a job and wait until it has ended, which takes one window at most."""
        if job.request is not None:
            job.request.watch.cancelled.set()
        if job.task is not None:
            await asyncio.wait({job.task})

    def drop(self, job: Job) -> None:
        """Forget a job; its files are removed when nobody works on them any more."""
        self.jobs.pop(job.id, None)
        self._dropped(job)
        if job.request is not None:
            job.request.watch.cancelled.set()
        if job.task is None or job.task.done():
            self._remove(job)
        else:
            job.task.add_done_callback(lambda _: self._remove(job))

    def sweep(self) -> None:
        """Forget the jobs that nobody has asked about for long."""
        before = time.monotonic() - self.service.store.keep_seconds
        for job in [job for job in self.jobs.values() if job.touched < before]:
            self.drop(job)

    def make_room(self, size: int) -> bool:
        """Forget the oldest jobs that are done until so many bytes are free; return whether one was forgotten."""
        freed, dropped = 0, False
        for job in [job for job in self.jobs.values() if not job.working]:
            freed += job.uploads.size
            self.drop(job)
            dropped = True
            if freed >= size:
                break
        return dropped

    def close(self) -> None:
        """Cancel all work."""
        for job in list(self.jobs.values()):
            self.drop(job)

    def _start(self, job: Job) -> None:
        """Take a place in the queue and begin; if that is impossible, the job stays as it is."""
        folder = job.uploads.folder / str(job.run + 1)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.service.place())
            folder.mkdir(exist_ok=True)
            place = stack.pop_all()  # which the work gives back
        job.run += 1
        job.files = [JobFile(upload.name) for upload in job.uploads.files]
        job.status, job.problem = "waiting", None
        # A list or a number is changed by the thread that works; the event loop's thread only reads them.
        job.request = ConversionRequest(
            job.uploads.files,
            folder,
            job.settings,
            page_by_page=True,
            page_done=lambda number, page, files=job.files: files[number].pages.append(page),  # type: ignore[misc]
            file_done=lambda number, outcome, files=job.files: _close(files[number], outcome),  # type: ignore[misc]
        )
        job.task = asyncio.get_running_loop().create_task(self._work(job, job.request, place))

    async def _work(self, job: Job, request: ConversionRequest, place: contextlib.ExitStack) -> None:
        started = time.monotonic()
        work = None
        try:
            with place:
                work = asyncio.wrap_future(self.service.engine.submit(request))
                while not work.done():
                    if request.watch.progress.started and job.status == "waiting":
                        job.status = "working"
                    await asyncio.wait({work}, timeout=0.05 if job.status == "waiting" else None)
                self.service.count_work(work.result(), time.monotonic() - started)
            job.status = "done"
        except (Cancelled, asyncio.CancelledError):
            self.service.counters.cancelled.inc()
            job.status = "cancelled"
        except Problem as problem:
            job.status, job.problem = "failed", problem
        except KNOWN as error:
            job.status, job.problem = "failed", internal_error(error)
        finally:
            request.watch.progress.ended = time.monotonic()
            if work is not None:
                with contextlib.suppress(BaseException):
                    work.exception()

    def _remove(self, job: Job) -> None:
        self.service.quota.free(job.uploads.size)
        job.uploads.size = 0
        shutil.rmtree(job.uploads.folder, ignore_errors=True)


def _close(file: JobFile, outcome: FileOutcome) -> None:
    file.problem, file.done = outcome.problem, True
