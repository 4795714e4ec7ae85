"""What outlives a lost worker, and the worker that reads it."""

import threading
import warnings

import pytest
from stand_in import save, text_page

from drmamba.config import EngineConfig, InferenceConfig
from drmamba.errors import CheckpointError
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.batch import BatchOptions
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.jobs import FileJob, plan
from drmamba.inference.records import PageRecord
from drmamba.scale.ray_batch import RayWorker
from drmamba.scale.task_log import TaskLedger
from drmamba.scale.worker import Assignment, PageWorker, as_json, from_json


class Scripted(PageWorker):
    """A worker without a network: `work` notes its files and dies at those it should."""

    def __init__(self, log, poison=(), tries=3):
        self.log, self.poison, self.groups = log, poison, []
        self.assignment = Assignment(
            model="lite",
            model_file=None,
            model_sha256="",
            config=InferenceConfig(),
            engine=EngineConfig(),
            options=BatchOptions(),
            folder="",
            stores=None,
            tries=tries,
        )

    def work(self, jobs: dict[int, FileJob]):
        self.groups.append(list(jobs))
        for file, job in jobs.items():
            if file in self.poison:
                raise SystemExit
            yield file, [PageRecord(status="done", input=str(job.source), seconds=file + 0.5)]


def rows(*files):
    return {"file": files, "source": [f"{f}.jpg" for f in files], "output": [f"{f}.png" for f in files]}


def records(answer):
    return {file: from_json(text) for file, text in zip(answer["file"], answer["records"], strict=True)}


def test_a_task_is_done_together_once():
    worker = Scripted(TaskLedger())
    found = records(worker(rows(4, 5, 6)))
    assert worker.groups == [[4, 5, 6]]
    assert [found[file][0].seconds for file in (4, 5, 6)] == [4.5, 5.5, 6.5]


def test_after_a_death_finished_files_keep_their_records_and_the_rest_is_done_alone():
    ledger = TaskLedger()
    with pytest.raises(SystemExit):
        Scripted(ledger, poison={6})(rows(4, 5, 6, 7))
    heir = Scripted(ledger)
    found = records(heir(rows(4, 5, 6, 7)))
    assert heir.groups == [[6], [7]]  # 4 and 5 were finished, 6 and 7 are tried one by one
    assert sorted(found) == [4, 5, 6, 7]
    assert {r.status for one in found.values() for r in one} == {"done"}
    assert ledger.repeated() == 1


def test_a_file_that_ends_every_worker_is_given_up_and_its_neighbours_are_not():
    ledger, deaths = TaskLedger(), 0
    while True:
        worker = Scripted(ledger, poison={5}, tries=3)
        try:
            found = records(worker(rows(4, 5, 6)))
            break
        except SystemExit:
            deaths += 1
    assert deaths == 4  # once in company, three times alone
    assert found[4][0].status == found[6][0].status == "done"
    assert found[5][0].status == "failed"
    assert found[5][0].error == "5.jpg ended its worker 3 times, alone each time, and was given up"


def test_only_work_in_hand_is_remembered():
    ledger = TaskLedger()
    worker = Scripted(ledger)
    for first in range(0, 300, 3):
        answer = worker(rows(first, first + 1, first + 2))
        ledger.receive(answer["file"])
    assert not any((ledger._started, ledger._alone, ledger._finished))


def test_nothing_is_begun_after_a_stop():
    ledger = TaskLedger()
    ledger.stop()
    worker = Scripted(ledger)
    assert worker(rows(1, 2)) == {"file": [], "records": []}
    assert worker.groups == []


def test_records_travel_unchanged():
    record = PageRecord(
        status="done", input="a", output="b", settings={"x": [1, None]}, quality={"flags": ["blank"]}
    )
    assert from_json(as_json([record])) == [record]


def test_another_model_under_the_same_name_is_refused(tmp_path):
    assignment = Assignment(
        model="lite",
        model_file=None,
        model_sha256="0" * 64,
        config=InferenceConfig(),
        engine=EngineConfig(device="cpu", workers=1),
        options=BatchOptions(),
        folder=str(tmp_path),
        stores=None,
        tries=3,
    )
    with pytest.raises(CheckpointError, match="is another one on this machine"):
        PageWorker(assignment, TaskLedger())


def test_a_file_that_comes_back_without_a_result_has_failed(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"x")
    worker = Scripted(TaskLedger())
    monkeypatch.setattr(worker, "batch", type("B", (), {"run": lambda *_: iter(())})(), raising=False)
    (job,) = plan([tmp_path / "a.png"], tmp_path / "out")
    ((file, (record,)),) = PageWorker.work(worker, {3: job})
    assert (file, record.status) == (3, "failed")
    assert str(tmp_path / "a.png") in record.error


def test_a_worker_closes_what_it_opened(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        with Binarizer.from_pretrained() as made:
            digest = made.sha256
    assignment = Assignment(
        model="lite",
        model_file=None,
        model_sha256=digest,
        config=InferenceConfig(),
        engine=EngineConfig(device="cpu", workers=1),
        options=BatchOptions(),
        folder=str(tmp_path),
        stores=None,
        tries=3,
    )
    monkeypatch.chdir(tmp_path)
    decoders = []
    started = DecoderProcess.started

    def noted(self):
        process = started(self)
        decoders.append(process)
        return process

    monkeypatch.setattr(DecoderProcess, "started", noted)
    save(tmp_path / "0.jpg", text_page(60, 80))
    before = set(threading.enumerate())
    worker = PageWorker(assignment, TaskLedger())
    (found,) = records(worker(rows(0))).values()
    assert found[0].status == "done"
    assert decoders[0].poll() is None  # kept for the next task
    worker.close()
    assert decoders[0].poll() is not None
    # Threads of earlier tests may end meanwhile, so that only new ones count.
    assert set(threading.enumerate()) <= before


def test_an_actor_that_ends_closes_its_worker():
    closed = []

    class Closing(Scripted):
        def close(self):
            closed.append(self)

    actor = RayWorker(lambda: Closing(TaskLedger()))
    assert sorted(records(actor(rows(1, 2)))) == [1, 2]
    assert not closed
    del actor
    assert len(closed) == 1
