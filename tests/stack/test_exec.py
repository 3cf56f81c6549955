from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from config.boot import prerequisites
from config.stack import StackError
from config.stack.servers.servers import start_servers
from config.stack.state import claim
from config.stack.supervision.leftovers import processes_of
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import Supervisor
from emulator.folder import Folder
from emulator.speakers.certificates import prepare, server_context
from tests.servers.tls_relay import TlsRelay
from tests.stack.conftest import Launch

INSPECT = """
import json, os, psycopg, redis
db = psycopg.connect(os.environ["DATABASE_URL"])
settings = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True).config_get("*")
print(json.dumps({
    "postgres": db.info.server_version,
    "collation": db.execute(
        "SELECT datlocale FROM pg_database WHERE datname = 'carillon'"
    ).fetchone()[0],
    "fsync": db.execute("SHOW fsync").fetchone()[0],
    **{name: settings[name] for name in ("appendonly", "maxmemory-policy", "bind")},
}))
"""
COUNT_VISITS = """
import os, psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as db:
    db.execute("CREATE TABLE IF NOT EXISTS visit (at timestamptz DEFAULT now())")
    db.execute("INSERT INTO visit DEFAULT VALUES")
    print(db.execute("SELECT count(*) FROM visit").fetchone()[0])
"""


@pytest.fixture
def given() -> dict[str, str]:
    """The servers these tests run on, for tests that need none of their own."""
    return {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}


def test_the_exit_code_is_the_commands(exec_beside: Launch, given: dict[str, str]) -> None:
    assert exec_beside("sh", "-c", "exit 7", **given).returncode == 7


def test_a_command_ended_by_a_signal_is_reported_as_a_shell_would(
    exec_beside: Launch, given: dict[str, str]
) -> None:
    ended = exec_beside("sh", "-c", "kill -TERM $$", **given)
    assert ended.returncode == 128 + signal.SIGTERM


def test_a_command_that_does_not_exist_is_named(exec_beside: Launch, given: dict[str, str]) -> None:
    ended = exec_beside("no-such-program", **given)
    assert ended.returncode == 1
    assert ended.stderr.startswith("carillon: cannot run no-such-program")


def test_both_servers_answer_and_only_postgresql_does_without_the_disk(exec_beside: Launch) -> None:
    found = json.loads(exec_beside(sys.executable, "-c", INSPECT).stdout)
    assert found["postgres"] // 10_000 == 18
    assert found["collation"] == "C.UTF-8"
    assert found["fsync"] == "off"
    assert found["appendonly"] == "yes"
    assert found["maxmemory-policy"] == "noeviction"
    assert found["bind"] == "127.0.0.1"


def test_data_survive_and_processes_do_not(exec_beside: Launch, state: Path) -> None:
    visits = []
    for _ in range(2):
        visits.append(exec_beside(sys.executable, "-c", COUNT_VISITS).stdout.strip())
        assert processes_of(state) == []
    assert visits == ["1", "2"]


def test_what_the_command_leaves_running_is_ended(
    exec_beside: Launch, state: Path, given: dict[str, str]
) -> None:
    ended = exec_beside("setsid", "--fork", "sleep", "300", **given)
    assert ended.returncode == 0
    assert processes_of(state) == []


def test_a_given_server_is_used_and_none_is_started_in_its_place(
    exec_beside: Launch, state: Path, given: dict[str, str]
) -> None:
    ask = ("sh", "-c", "echo $DATABASE_URL; echo $REDIS_URL")
    ended = exec_beside(*ask, DATABASE_URL=given["DATABASE_URL"])
    database_url, redis_url = ended.stdout.split()
    assert database_url == given["DATABASE_URL"]
    assert redis_url.startswith("redis://")
    assert not (state / "postgres").exists()
    assert (state / "valkey").exists()


def test_a_given_server_that_does_not_answer_is_named_without_its_password(
    exec_beside: Launch,
) -> None:
    for name, url in (
        ("DATABASE_URL", "postgresql://push:hidden@127.0.0.1:1/carillon"),
        ("REDIS_URL", "redis://:hidden@127.0.0.1:1/0"),
    ):
        ended = exec_beside("true", **{name: url})
        assert ended.returncode == 1
        assert ended.stderr.startswith(f"carillon: {name}: 127.0.0.1:1/")
        assert "hidden" not in ended.stderr


def test_a_given_redis_that_lacks_a_database_is_refused(exec_beside: Launch) -> None:
    server, _, _ = os.environ["REDIS_URL"].rpartition("/")
    ended = exec_beside("true", REDIS_URL=f"{server}/99999")
    assert ended.returncode == 1
    assert "Redis does not have database 99999 (broker: " in ended.stderr


def test_a_given_postgresql_that_is_too_old_is_refused(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    monkeypatch.setattr(prerequisites, "MIN_POSTGRESQL", 99)
    with claim(state) as claimed, pytest.raises(StackError, match=r"Use PostgreSQL 99 or later"):
        start_servers(
            Supervisor(LogFolder(claimed.logs), print), claimed, {}, given, for_tests=True
        )


def test_a_database_address_that_is_none_is_refused_in_words(exec_beside: Launch) -> None:
    ended = exec_beside("true", DATABASE_URL="foo")
    assert ended.returncode == 1
    assert "DATABASE_URL must begin with postgresql://" in ended.stderr


def test_a_redis_behind_tls_is_believed_when_somebody_vouches_for_it(
    exec_beside: Launch, tmp_path: Path
) -> None:
    folder = Folder(tmp_path)
    prepare(folder, now=datetime.now(UTC))
    theirs = urlsplit(os.environ["REDIS_URL"])
    assert theirs.port is not None
    relay = TlsRelay(theirs.port, server_context(folder))
    netloc = f"{theirs.netloc.rpartition('@')[0]}@127.0.0.1:{relay.port}"
    url = theirs._replace(scheme="rediss", netloc=netloc).geturl()

    refused = exec_beside("true", REDIS_URL=url)
    believed = exec_beside("true", REDIS_URL=url, REDIS_CA_FILE=str(folder.authority))
    relay.stop()

    assert refused.returncode == 1
    assert "nobody vouches for it (REDIS_CA_FILE)" in refused.stderr
    assert believed.returncode == 0, believed.stderr


def test_data_of_another_postgresql_are_refused_with_the_way_out(
    exec_beside: Launch, state: Path
) -> None:
    (state / "postgres").mkdir()
    (state / "postgres" / "PG_VERSION").write_text("17\n")
    ended = exec_beside("true")
    assert ended.returncode == 1
    assert "holds data of PostgreSQL 17, but this release brings 18" in ended.stderr
    assert "pg_dump" in ended.stderr


def test_a_lost_secrets_file_is_explained(exec_beside: Launch, state: Path) -> None:
    assert exec_beside("true").returncode == 0
    (state / "secrets").unlink()
    assert "PostgreSQL refuses the password" in exec_beside("true").stderr
