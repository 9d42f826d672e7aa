"""Measures workloads on one device, as the benchmark asks for on standard input.

Each line is a JSON object. The answer to one without a name is the kind of each workload, and
whether it is measured by default. The answer to one with a name is the number of calls that fill a
round, and to one with a name and a number of calls the wall and the processor time of a call.
"""

from __future__ import annotations

import json
import sys
import time

import paddle

from workloads import Run, is_default, workloads


def main(device: str, round_seconds: float) -> None:
    """Answers requests until the input ends."""
    paddle.set_device(device)
    paddle.seed(1)
    known = workloads()
    prepared: dict[str, Run] = {}

    def finish() -> None:
        if device != "cpu":
            paddle.device.synchronize(device)

    def measured(run: Run, calls: int) -> tuple[float, float]:
        finish()
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(calls):
            run()
        finish()
        return (
            (time.perf_counter() - wall) / calls,
            (time.process_time() - processor) / calls,
        )

    for line in sys.stdin:
        request = json.loads(line)
        name = request.get("name")
        answer: object
        if name is None:
            answer = {name: [known[name].kind, is_default(name)] for name in known}
        elif "calls" not in request:
            # Only one workload exists at a time, so that it has the memory and the caches alone.
            prepared = {name: known[name].prepare()}
            measured(prepared[name], 2)
            seconds, _ = measured(prepared[name], 3)
            # Other processes use the caches between rounds. A model takes longer to refill them.
            length = round_seconds if known[name].kind == "operator" else 5 * round_seconds
            answer = max(1, int(length / seconds))
        else:
            answer = measured(prepared[name], request["calls"])
        print(f"answer {json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
