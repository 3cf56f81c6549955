"""`python -m bench.exporting RUN`: the recipients of a run as a file, read to its end.

Inside a stack's environment; prints its numbers as JSON. What a process needs before it begins is
told apart from what the file takes.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from campaigns.results import recipients
from campaigns.results.recipients import Filters
from campaigns.runs.run import Run


def measure(run: Run) -> dict[str, float]:
    recipients.page(run, Filters(), after=0, limit=1)  # what any first question loads
    before, began = _peak_mb(), time.monotonic()
    pieces = lines = size = 0
    for piece in recipients.csv_lines(run, Filters()):
        pieces, lines, size = pieces + 1, lines + piece.count("\n"), size + len(piece)
    return {
        "rows": lines - 1,
        "pieces": pieces,
        "mb": size / 1024**2,
        "seconds": time.monotonic() - began,
        "before_mb": before,
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(measure(Run.objects.get(pk=int(sys.argv[1])))))
