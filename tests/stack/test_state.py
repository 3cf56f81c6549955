from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.boot.environment import load_running_stack
from config.stack import CHECKOUT, StackError
from config.stack.secret_values import assignments, read_assignments, secret_values
from config.stack.state import claim
from tests.stack.conftest import bare_environment, launcher


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    first = secret_values(file, {})
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(set(first.values())) == len(first)
    assert secret_values(file, {}) == first


def test_a_secret_from_the_environment_wins_and_is_not_written_down(tmp_path: Path) -> None:
    values = secret_values(tmp_path / "secrets", {"SECRET_KEY": "mine"})
    assert values["SECRET_KEY"] == "mine"
    assert "mine" not in (tmp_path / "secrets").read_text()


def test_what_is_written_down_is_read_alike_by_a_shell_a_launcher_and_django(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "rediss://:it's@there/0?ssl_cert_reqs=required&ssl_ca_certs=%2Fmy ca.pem"
    file = tmp_path / "env"
    file.write_text(assignments({"AN_ADDRESS": address}))

    asked = ["sh", "-c", f'. {file}; printf %s "$AN_ADDRESS"']
    assert subprocess.check_output(asked, text=True) == address
    assert read_assignments(file) == {"AN_ADDRESS": address}
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.setenv("AN_ADDRESS", "")  # so that it is taken back afterwards
    monkeypatch.delenv("AN_ADDRESS")
    load_running_stack(file)
    assert os.environ["AN_ADDRESS"] == address


@pytest.fixture
def running_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of one that runs here; REDIS_URL is not said."""
    monkeypatch.setenv("REDIS_URL", "")  # so that it is taken back afterwards
    monkeypatch.delenv("REDIS_URL")
    file = tmp_path / "env"
    file.write_text(assignments({"DATABASE_URL": "postgresql://here/a", "REDIS_URL": "redis://r"}))
    return file


def test_whoever_exported_its_database_finds_the_rest_of_a_running_stack(
    running_stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://here/a")
    load_running_stack(running_stack)
    assert os.environ["REDIS_URL"] == "redis://r"


def test_whoever_has_another_database_gets_nothing_of_a_running_stack(
    running_stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/a")
    load_running_stack(running_stack)
    assert "REDIS_URL" not in os.environ


def test_a_second_launcher_names_the_first(state: Path) -> None:
    with claim(state):
        ended = subprocess.run(
            launcher(state, "exec", "--", "true"),
            cwd=CHECKOUT,
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert (
        ended.stderr
        == f"carillon: {state} is in use by pid {os.getpid()}. Stop that stack first.\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/sys refuses even root on Linux only")
def test_a_folder_that_cannot_be_written_is_one_clear_line() -> None:
    with pytest.raises(StackError) as refused, claim(Path("/sys/carillon")):
        pass
    assert "/sys/carillon is not writable for uid" in str(refused.value)
    assert "\n" not in str(refused.value)
