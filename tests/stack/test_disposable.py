"""A cluster that was made for tests is not trusted after the machine has restarted."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.stack.servers.postgres import BOOT, MADE_FOR_TESTS, is_disposable


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    folder = tmp_path / "postgres"
    folder.mkdir()
    (folder / "PG_VERSION").write_text("18\n")
    return folder


def mark(cluster: Path, *, boot: str = "") -> Path:
    file = cluster / MADE_FOR_TESTS
    file.write_text(boot or (BOOT.read_text() if BOOT.is_file() else ""))
    return file


def test_one_that_is_yet_to_be_made_is_disposable_for_tests_only(tmp_path: Path) -> None:
    assert is_disposable(tmp_path / "postgres", for_tests=True)
    assert not is_disposable(tmp_path / "postgres", for_tests=False)


def test_one_that_tests_made_is_used_again(cluster: Path) -> None:
    mark(cluster)
    assert is_disposable(cluster, for_tests=True)
    assert (cluster / "PG_VERSION").exists()


def test_one_that_was_made_before_a_restart_is_put_aside(cluster: Path) -> None:
    mark(cluster, boot="another")
    assert is_disposable(cluster, for_tests=True)
    assert not cluster.exists()


def test_one_that_tests_did_not_make_is_kept(cluster: Path) -> None:
    assert not is_disposable(cluster, for_tests=True)
    assert cluster.exists()


def test_one_that_the_product_has_used_is_kept_from_then_on(cluster: Path) -> None:
    file = mark(cluster, boot="another")
    assert not is_disposable(cluster, for_tests=False)
    assert not file.exists()
    assert not is_disposable(cluster, for_tests=True)
    assert cluster.exists()
