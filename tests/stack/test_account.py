from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack.supervision.account import data_folders, quarters

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another account")


@pytest.fixture
def system_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="carillon-system-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_roots_servers_run_under_another_account(state: Path, system_folder: Path) -> None:
    home = quarters(state, system_folder=system_folder)
    assert home.account.uid not in (0, None)
    assert home.data == state
    assert data_folders(state) == [state]


def test_where_the_state_is_closed_the_data_live_outside_and_nothing_is_opened(
    tmp_path: Path, system_folder: Path
) -> None:
    tmp_path.chmod(0o700)
    home = quarters(tmp_path, system_folder=system_folder)
    assert home.data.parent == system_folder
    assert home.account.can_enter(home.folder("valkey").parent)
    assert data_folders(tmp_path) == [tmp_path, home.data]
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert quarters(tmp_path, system_folder=system_folder) == home


def test_a_new_state_folder_never_meets_the_data_of_an_old_one(
    tmp_path: Path, system_folder: Path
) -> None:
    tmp_path.chmod(0o700)
    first = quarters(tmp_path, system_folder=system_folder).data
    (tmp_path / "data-is-in").unlink()
    assert quarters(tmp_path, system_folder=system_folder).data != first


def test_data_made_by_an_ordinary_user_stay_that_users(state: Path, system_folder: Path) -> None:
    (state / "postgres").mkdir()
    os.chown(state / "postgres", 12345, 12345)
    assert quarters(state, system_folder=system_folder).account.uid == 12345
