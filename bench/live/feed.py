"""2,000 open streams: what they hold in memory, and how soon after its commit an item is heard."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench.processes import holdings
from bench.stack import Stack

STREAMS = 2_000
MAX_MB, MAX_SECONDS = 200, 1.0


def measure(folder: Path) -> dict[str, Any]:
    with Stack(folder) as stack:
        listening = stack.started(sys.executable, "-m", "bench.live.listening", str(STREAMS))
        assert listening.stdout is not None and listening.stdin is not None
        before = _rss_mb(stack)
        opened = json.loads(listening.stdout.readline())
        held = _rss_mb(stack)
        listening.stdin.write("go\n")
        listening.stdin.flush()
        heard = json.loads(listening.stdout.readline())
        after = _rss_mb(stack)
        listening.communicate(timeout=60)
    found = {"idle_mb": before, "open_mb": held, "after_mb": after, **opened, **heard}
    return {**found, "text": text(found)}


def _rss_mb(stack: Stack) -> float:
    return max(one.rss_mb for one in holdings(stack.launcher.pid).values() if one.kind == "feed")


def text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['streams']:,} streams opened in {found['opening_seconds']:.1f} s; the feed holds"
        f" {found['open_mb']:.0f} MB with them, {found['after_mb']:.0f} MB after"
        f" ({found['idle_mb']:.0f} MB without; {MAX_MB} MB at most)"
    ]
    for name, what in (("one", "one person at a time"), ("all", "all of them at once")):
        seen = found[name]
        lines.append(
            f"{what}: {seen['heard']:,} of {seen['sent']:,} heard, after the commit"
            f" p50 {seen['p50_ms']:.0f} ms, p99 {seen['p99_ms']:.0f} ms, the last"
            f" {seen['most_ms']:.0f} ms ({MAX_SECONDS:.0f} s at most)"
        )
    return "\n".join(lines)
