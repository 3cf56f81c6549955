"""What a project of millions is like to work with: each figure is one function of a filled stack.

A function gets the stack and how many people there are, and returns its rows: what, how much, unit
and aim. One more figure is one more name in FIGURES.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import launch, people, registering
from bench.stack import Stack

Row = tuple[str, float, str, str]  # what, how much, of what, and what is wanted
PEOPLE_WITH_EVENTS, EVENTS_EACH = 1_000_000, 10
Figure = Callable[[Stack, int], list[Row]]


def imported(stack: Stack, count: int) -> list[Row]:
    """In a process of its own, whose memory is told too; the workers have nothing to do."""
    found = json.loads(stack.run(sys.executable, "-m", "bench.growth.importing", str(count)))
    rows = f"{count:,} rows"
    return [
        (f"{rows}: bare COPY of the same", found["bare_per_second"], "/s", ""),
        (f"{rows}: validated and staged", found["staged_per_second"], "/s", "100,000/s"),
        ("  of the bare COPY", found["staged_per_second"] / found["bare_per_second"], "", ""),
        (f"{rows}: index, last words, count", found["prepared_seconds"], "s", ""),
        (f"{rows}: merged, all new", found["merged_seconds"], "s", "5,000,000: 120 s"),
        (f"{rows}: the whole, from Import to finished", found["seconds"], "s", ""),
        (f"{rows}: checked again, all known", found["checked_seconds"], "s", ""),
        (f"{rows}: merged again, nothing new", found["again_seconds"], "s", ""),
        (f"{rows}: replaced, each with another's phone", found["replaced_seconds"], "s", ""),
        ("Largest process of the import", found["peak_mb"], "MB", "under 200 MB"),
    ]


def imported_beside(stack: Stack, count: int) -> list[Row]:
    """By the workers, which send a run meanwhile: a fifth of the people, and a run that lasts for
    longer than their import."""
    rows, recipients = count // 5, count // 10
    people.fill(stack, recipients)
    alone = launch.measure(stack)["per_second"]
    with _importer(stack, rows) as importer:
        peak = launch.measure(stack, meanwhile=importer.begin)["peak_mb"]
        found = importer.told()
    sent = launch.arrivals(stack)
    merged, together = found["merged"] - found["staged"], _together(found, sent)
    beside = sum(found["staged"] <= at <= found["merged"] for at in sent) / (together or 1.0)
    name = f"{rows:,} rows beside a run"
    return [
        (f"{name} of {recipients:,}: staged", found["staged"] - found["began"], "s", ""),
        (f"{name} of {recipients:,}: merged", merged, "s", "5,000,000: 300 s"),
        ("  of that time the run was under way", together / merged, "", "1"),
        ("The run's rate alone", alone, "/s", ""),
        ("  beside the merge, of that alone", beside / alone, "", "0.7"),
        ("  largest worker process of the two", peak, "MB", "under 200 MB"),
    ]


def _together(found: dict[str, float], sent: list[float]) -> float:
    """Seconds in which people were merged and messages arrived."""
    return max(0.0, min(found["merged"], sent[-1]) - max(found["staged"], sent[0]))


class _Importer:
    """A file is uploaded; the workers get it at the first look at a run that is under way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._said, self._say, self._began = process.stdout, process.stdin, False
        self._said.readline()  # it is uploaded

    def begin(self) -> None:
        if not self._began:
            self._began = True
            self._say.write("go\n")
            self._say.flush()

    def told(self) -> dict[str, float]:
        found: dict[str, float] = json.loads(self._said.readline())
        return found


@contextmanager
def _importer(stack: Stack, rows: int) -> Iterator[_Importer]:
    with stack.started(sys.executable, "-m", "bench.growth.importing", str(rows), "beside") as one:
        yield _Importer(one)


def asked(stack: Stack, count: int) -> list[Row]:
    """Rules on ten events of each person, a million of them at most."""
    some = min(count, PEOPLE_WITH_EVENTS)
    people.fill(stack, some)
    told = stack.run(sys.executable, "-m", "bench.growth.events", str(EVENTS_EACH * some))
    found = json.loads(told)
    rows = [(f"1,000 events of {some:,} people, written", found["batch"] * 1_000, "ms", "10 ms")]
    for name, seconds in found["rules"].items():
        rows += [
            (f"Who {name}", seconds["exact"], "s", "3 s"),
            ("  estimated", seconds["estimate"], "s", "0.3 s"),
            ("  one person", seconds["one"] * 1_000, "ms", ""),
        ]
    return rows


def registered(stack: Stack, count: int) -> list[Row]:
    """As an app does it while people use it, then as one that writes everybody down at night."""
    people.fill(stack, count)
    found = registering.measure(stack, count)
    return [
        ("POST devices", found["calls_per_second"], "/s", "300/s"),
        ("  p99", found["p99_ms"], "ms", "300 ms"),
        ("  CPU of the web processes, a call", found["cpu_ms"].get("web", 0.0), "ms", ""),
        ("  failed", float(found["failed"]), "", "none"),
        ("POST contacts/bulk: people", found["bulk_per_second"], "/s", "5,000/s"),
    ]


FIGURES: tuple[Figure, ...] = (imported, imported_beside, asked, registered)


def measure(folder: Path, count: int) -> dict[str, Any]:
    """By what: how much of what; and under `text` what a person reads."""
    rows: list[Row] = []
    with Stack(folder) as stack:
        for figure in FIGURES:
            print(f"  {figure.__name__}: {count:,} people…", flush=True)
            found = figure(stack, count)
            print(text(found), flush=True)  # the next may take a quarter of an hour
            rows += found
    return {"people": count, "figures": [list(row) for row in rows], "text": text(rows)}


def text(rows: list[Row]) -> str:
    return "\n".join(
        f"{what:<58}{amount:>14,.{0 if amount >= 1_000 else 2}f} {unit:<3}  {aim}"
        for what, amount, unit, aim in rows
    )
