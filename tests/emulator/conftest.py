from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.emulator.running import RunningEmulator, run_to_its_end

Start = Callable[..., RunningEmulator]


@pytest.fixture(scope="session")
def shared_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    emulator = RunningEmulator(tmp_path_factory.mktemp("emulator"))
    yield emulator
    emulator.stop()


@pytest.fixture
def emulator(shared_emulator: RunningEmulator) -> RunningEmulator:
    """One process for all tests, with a clean slate for each."""
    shared_emulator.ask("POST", "/admin/reset", '{"settings": true}')
    shared_emulator.settings(latency_ms=1)
    return shared_emulator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "emulator"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with its keys: to make them takes longer than most tests."""
    folder = tmp_path_factory.mktemp("prepared")
    assert run_to_its_end(folder, "--prepare").returncode == 0
    return folder


@pytest.fixture
def start(folder: Path, prepared: Path) -> Iterator[Start]:
    """Start an emulator of the test's own, in `folder`; it is stopped afterwards."""
    started: list[RunningEmulator] = []

    def start(*arguments: str) -> RunningEmulator:
        if not folder.exists():
            shutil.copytree(prepared, folder)
        started.append(RunningEmulator(folder, *arguments))
        return started[-1]

    yield start
    for emulator in started:
        if emulator.process.poll() is None:
            emulator.stop()
