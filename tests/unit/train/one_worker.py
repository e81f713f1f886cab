"""One process of a training of several, for the tests that start them: `python one_worker.py '{"directory": …}'`."""

import json
import os
import signal
import sys
from pathlib import Path

from small_training import config, data

from stepformer.train import WorkerError, distributed, joined, train

TASK = json.loads(sys.argv[1])
read: list[list[int]] = []
"""Which pairs this process has read, batch by batch."""


def keeping(make):
    def batch(pairs, rows):
        read.append(rows.tolist())
        return make(pairs, rows)

    return batch


def main() -> int:
    distributed.batch = keeping(distributed.batch)
    with joined() as workers:

        def on_step(step, model):
            if workers.rank == TASK.get("rank", 0):
                for number in (name for name, at in TASK.get("signals", {}).items() if at == step):
                    os.kill(os.getpid(), getattr(signal, number))

        settings = config(**TASK["settings"])
        seed_of_data = TASK.get("n_train", {}).get(str(workers.rank), 97)
        try:
            run = train(settings, data(n_train=seed_of_data), TASK["directory"], resume=TASK.get("resume", False),
                        on_step=on_step, workers=workers)  # fmt: skip
        except WorkerError as error:
            print(error, file=sys.stderr, flush=True)
            return 1
        result = {"read": read, "stopped": run.stopped, "step": run.step, "dev": run.dev.loss,
                  "rows": run.rows}  # fmt: skip
        Path(TASK["results"], f"{workers.rank}.json").write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
