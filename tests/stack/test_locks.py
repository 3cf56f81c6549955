"""The lock files share one .venv, so no two of them may want different versions of a package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((CHECKOUT / lock).read_text()))


@pytest.mark.parametrize("lock", ["requirements-dev.txt", "requirements-bench.txt"])
def test_a_lock_holds_the_whole_runtime_in_the_same_versions(lock: str) -> None:
    runtime = pins("requirements.txt")
    assert runtime
    assert {name: pins(lock).get(name) for name in runtime} == runtime, "run `make lock`"


def test_the_benchmark_moves_no_version_of_the_tests() -> None:
    tests, benchmark = pins("requirements-dev.txt"), pins("requirements-bench.txt")
    both = tests.keys() & benchmark.keys()
    assert {name: benchmark[name] for name in both} == {name: tests[name] for name in both}


def test_nothing_but_the_benchmark_installs_the_official_sdk() -> None:
    assert "firebase-admin" in pins("requirements-bench.txt")
    for lock in ("requirements.txt", "requirements-dev.txt"):
        assert not {"firebase-admin", "grpcio", "async-firebase"} & pins(lock).keys()
