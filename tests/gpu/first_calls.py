"""The first call of each routine in this process: planned and its stream held, or in a capture.

A kernel is loaded once in a process, for which the driver may wait until the device is idle; what
has been planned is loaded.

    python first_calls.py stream|graph

prints one line of JSON: what was wrong with each form of call, or "right".
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gate import Gate
from libraries import Torch
from samples import FORMS, Form, Pending, Sample


def on_a_held_stream(form: Form, library: Torch, gate: Gate) -> str:
    sample = Sample(form)
    pending, stream = Pending(sample, library), library.new_stream()
    plan = sample.plan(pending.arrays)
    with library.using(stream):
        with gate.held(library.handle()) as hold:
            pending.write(library.handle())
            returned = plan()
            waited = not hold.busy
        if waited:
            return "waited for the stream"
        return judged(sample, sample.named(returned, pending.arrays), library)


def in_a_capture(form: Form, library: Torch, gate: Gate) -> str:
    sample = Sample(form)
    pending = Pending(sample, library)
    graph = library.module.cuda.CUDAGraph()
    with library.module.cuda.graph(graph):
        found = sample.run(pending.arrays)
    pending.write(library.handle())
    graph.replay()
    return judged(sample, found, library)


def judged(sample: Sample, found: dict[str, Any], library: Torch) -> str:
    try:
        sample.check(found, library)
    except AssertionError as error:
        return str(error)
    return "right"


def main() -> None:
    check = {"stream": on_a_held_stream, "graph": in_a_capture}[sys.argv[1]]
    library, gate = Torch(), Gate()
    print(json.dumps({str(form): check(form, library, gate) for form in FORMS}))


if __name__ == "__main__":
    main()
