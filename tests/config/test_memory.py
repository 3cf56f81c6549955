"""Forked processes share what their parent imported: most of a child's memory is not its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.servers.workers import Workers

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is shared"),
]


def test_the_children_of_a_worker_share_its_memory(workers: Workers) -> None:
    assert_that_children_share(workers.processes["bulk"].pid)


def test_the_processes_of_the_web_share_the_application(workers: Workers) -> None:
    workers.start_web()
    assert_that_children_share(workers.processes["web"].pid)
    workers.stop("web")


def assert_that_children_share(parent: int) -> None:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    assert children
    for child in children:
        memory = memory_of(int(child))
        own = memory["Private_Clean"] + memory["Private_Dirty"]
        assert own < memory["Rss"] / 2, memory


def memory_of(pid: int) -> dict[str, int]:
    """In kB, by the kernel's names."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
