"""`make run SMALL=1`: what it starts, and what it leaves out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.stack import StackError, shared_environment
from config.stack.processes import processes
from config.stack.small_profile import is_small
from config.stack.state import State
from config.workers.celery_settings import QUEUES

PORTS = {"PORT": 18000, "FEED_PORT": 18001, "FLOWER_PORT": 18555, "EMULATOR_PORT": 19099}


def started(folder: Path, **environ: str) -> dict[str, tuple[str, ...]]:
    """The command of each process of `make run`."""
    state = State(folder)
    env = {"REDIS_URL": "redis://127.0.0.1/0", **environ}
    env |= shared_environment.of_a_run(state, environ, PORTS)
    return {service.name: tuple(map(str, service.argv)) for service in processes(state, env)}


def after(command: tuple[str, ...], option: str) -> str:
    return command[command.index(option) + 1]


@pytest.mark.parametrize("environ", [{}, {"SMALL": "1"}], ids=["whole", "small"])
def test_every_queue_has_exactly_one_worker(tmp_path: Path, environ: dict[str, str]) -> None:
    commands = started(tmp_path, **environ).values()
    consumed = [
        queue for each in commands if "-Q" in each for queue in after(each, "-Q").split(",")
    ]
    assert sorted(consumed) == sorted(QUEUES)


def test_a_small_stack_has_fewer_processes(tmp_path: Path) -> None:
    small, whole = started(tmp_path, SMALL="1"), started(tmp_path)
    assert whole.keys() - small.keys() == {"control", "outgoing"}
    assert (after(small["bulk"], "-c"), after(small["web"], "--processes")) == ("1", "1")
    assert after(whole["bulk"], "-c") == str(2 * len(os.sched_getaffinity(0)))
    assert after(started(tmp_path, SMALL="1", WORKERS="3")["bulk"], "-c") == "3"


def test_only_1_makes_it_small_and_a_wrong_value_is_named() -> None:
    assert is_small({"SMALL": "1"})
    assert not any(is_small({"SMALL": value}) for value in ("", "0"))
    with pytest.raises(StackError, match=r"SMALL must be 1 .* 'yes'"):
        is_small({"SMALL": "yes"})
