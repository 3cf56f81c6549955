from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.conftest import Start
from tests.emulator.running import REPOSITORY, run_to_its_end
from tests.given.waiting import eventually

PRIVATE = ("ca.key", "server.key", "service-account.json", "wrong-account.json")


def prepare(folder: Path, port: int = 9099) -> None:
    finished = run_to_its_end(folder, "--prepare", "--port", str(port))
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def account(folder: Path) -> dict[str, str]:
    content: dict[str, str] = json.loads((folder / "service-account.json").read_text())
    return content


def test_prepare_makes_every_file_and_keeps_the_secrets_private(folder: Path) -> None:
    prepare(folder)
    assert {path.name for path in folder.iterdir()} == {"ca.pem", "server.pem", *PRIVATE}
    assert all((folder / name).stat().st_mode & 0o777 == 0o600 for name in PRIVATE)
    assert account(folder)["type"] == "service_account"
    assert account(folder)["project_id"] == "carillon-demo"


def test_preparing_twice_changes_nothing(folder: Path) -> None:
    prepare(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    prepare(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_token_uri_follows_the_port_and_the_key_stays(folder: Path) -> None:
    prepare(folder, port=9099)
    before = account(folder)
    prepare(folder, port=9100)
    assert account(folder) == before | {"token_uri": "https://127.0.0.1:9100/token"}


def test_a_half_written_certificate_is_made_again(folder: Path, start: Start) -> None:
    prepare(folder)
    other = folder.with_name("other")
    prepare(other)
    # As a crash between the two writes leaves them: a key that is not the certificate's.
    (folder / "server.key").write_bytes((other / "server.key").read_bytes())
    assert start().ask("GET", "/healthz").status == 200


def test_it_says_where_it_listens_and_writes_that_port_down(start: Start, folder: Path) -> None:
    emulator = start("--port", "0")
    assert emulator.greeting == f"emulator ready on https://127.0.0.1:{emulator.port}"
    assert account(folder)["token_uri"] == f"{emulator.url}/token"


def test_a_taken_port_is_one_clear_line_and_exit_code_2(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = run_to_its_end(folder, "--port", str(port))
    assert finished.returncode == 2
    assert finished.stderr == (
        f"emulator: cannot listen on 127.0.0.1:{port}: Address already in use\n"
    )


def test_a_folder_it_cannot_use_is_one_clear_line_and_exit_code_2(tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")
    finished = run_to_its_end(blocked / "emulator", "--port", "0")
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"emulator: cannot use {blocked}/emulator: ")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("damage", ["", "[]", '{"project_id": "p"}', "no JSON"])
def test_a_damaged_service_account_is_one_clear_line(
    folder: Path, prepared: Path, damage: str
) -> None:
    shutil.copytree(prepared, folder)
    (folder / "service-account.json").write_text(damage)
    finished = run_to_its_end(folder, "--port", "0")
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--prepare", "--port", "0"]])
def test_impossible_arguments_are_refused(folder: Path, arguments: list[str]) -> None:
    assert run_to_its_end(folder, *arguments).returncode == 2


def test_a_restart_keeps_the_authority_and_the_key_but_no_token(start: Start) -> None:
    first = start()
    token = first.token()
    assert first.send({"token": "a"}, token=token).status == 200
    first.stop()

    second = start("--port", str(first.port))
    second.tls = first.tls
    second.account = first.account
    refused = second.send({"token": "a"}, token=token)
    assert refused.status == 401
    assert refused.json["error"]["details"][0]["reason"] == "ACCESS_TOKEN_EXPIRED"
    assert second.send({"token": "a"}).status == 200


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_the_witness_complete(start: Start, signal_number: int) -> None:
    emulator = start()
    assert emulator.send({"token": "a"}).status == 200
    assert emulator.stop(signal_number) == (0, "")
    assert [record["address"] for record in emulator.witness_file()] == ["a"]


def test_a_silent_address_does_not_hold_up_the_end(start: Start) -> None:
    emulator = start()
    token = emulator.token()
    body = b'{"message":{"token":"hang-1"}}'
    with emulator.open_socket() as held:
        held.sendall(
            b"POST /v1/projects/carillon-demo/messages:send HTTP/1.1\r\nHost: x\r\n"
            b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b"
            % (token.encode(), len(body), body)
        )
        eventually("it is on its way", lambda: emulator.counts()["in_flight"])
        assert emulator.stop() == (0, "")


def test_it_shares_nothing_with_the_product() -> None:
    script = (
        "import sys, emulator.__main__;"
        "print({'django', 'celery', 'config', 'campaigns', 'notifications'} & set(sys.modules))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert finished.stdout == "set()\n"
