"""The web stays awake: operators browse and an app calls while a run sends at full rate.

Three times the same load: nobody sends, a run sends without it, a run sends with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench import launch, people
from bench.stack import Stack

MESSAGES = 100_000
IDLE_SECONDS = 10


def measure(folder: Path, messages: int) -> dict[str, Any]:
    with Stack(folder) as stack:
        people.fill(stack, messages)
        visitors = Visitors(stack)
        time.sleep(IDLE_SECONDS)
        quiet = visitors.leave()
        solo = launch.measure(stack)
        visitors = Visitors(stack)
        busy = launch.measure(stack)
        shown = visitors.leave()
    found = {"idle": quiet, "sending": shown, "solo_per_second": solo["per_second"]}
    found |= {"busy_per_second": busy["per_second"], "witness_agrees": busy["witness_agrees"]}
    found["web_cores"] = busy["other_us"] * busy["accepted"] / 1e6 / busy["seconds"]
    return {**found, "text": text(found)}


class Visitors:
    """They come now, and go when told."""

    def __init__(self, stack: Stack) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.growth.visitors", stack.url, stack.key],
            env={"ADMIN_PASSWORD": stack.env["ADMIN_PASSWORD"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise SystemExit("The operators could not log in; what was said stands above.")

    def leave(self) -> dict[str, Any]:
        told, _ = self._process.communicate("")
        return dict(json.loads(told))


def text(found: dict[str, Any]) -> str:
    lines = []
    for name, what in (("idle", "nobody sends"), ("sending", "a run sends")):
        for kind in ("pages", "calls"):
            seen = found[name][kind]
            lines.append(
                f"{kind}, {what:<14}{seen['count']:>7,} asked, {seen['per_second']:>6.1f}/s, median"
                f" {seen['median_ms']:>5.0f} ms, p95 {seen['p95_ms']:>5.0f} ms,"
                f" {seen['errors']} errors"
            )
    share = found["busy_per_second"] / found["solo_per_second"]
    lines.append(
        f"Send rate {found['busy_per_second']:,.0f}/s of {found['solo_per_second']:,.0f}/s alone:"
        f" {share:.2f} (0.6 or more); pages' p95: 800 ms at most, no errors"
    )
    lines.append(
        f"Cores meanwhile: {found['web_cores']:.2f} for the web, beat and Flower,"
        f" {found['sending']['cores']:.2f} for the visitors themselves"
    )
    return "\n".join(lines)
