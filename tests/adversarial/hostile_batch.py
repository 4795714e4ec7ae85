"""Binarizes two folders in a process of its own, so that the memory of its decoders can be told from other children's.

python hostile_batch.py HEALTHY IN OUT LIMIT prints the records of IN and the size of the largest child as JSON.
"""

import json
import resource
import sys
from pathlib import Path

from stand_in import binarizer

from drmamba.inference.batch import Batch
from drmamba.inference.jobs import plan


def main() -> None:
    healthy, hostile, output, limit = sys.argv[1:]
    with binarizer(max_memory=int(limit)) as dark:
        batch = Batch(dark)
        for record in batch.run(plan([Path(healthy)], Path(output) / "well")):
            assert record.status == "done", record.error
        jobs = plan([Path(hostile)], Path(output) / "out")
        records = [
            {
                name: getattr(record, name)
                for name in ("input", "output", "status", "error", "flags", "megapixels", "seconds")
            }
            for record in batch.run(jobs)
        ]
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(json.dumps({"jobs": len(jobs), "records": records, "largest_child": largest}, default=str))


if __name__ == "__main__":
    main()
