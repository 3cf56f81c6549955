"""Google's own SDKs, and any program that knows FCM by its name, against the emulator."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from emulator import as_google
from emulator.folder import Folder
from emulator.speakers import certificates
from tests.emulator.running import REPOSITORY

README = (REPOSITORY / "emulator" / "README.md").read_text()
NODE_MODULES = REPOSITORY / "var" / "node" / "node_modules"

WHO_IS_GOOGLE = """
import os, pathlib, sys, urllib.request
for name in ("fcm", "oauth2", "www"):
    print(urllib.request.urlopen(f"https://{name}.googleapis.com/healthz").read().decode())
assert pathlib.Path(os.environ["GOOGLE_APPLICATION_CREDENTIALS"]).is_file()
assert "HTTPS_PROXY" not in os.environ
sys.exit(7)
"""


def namespaces() -> bool:
    unshare = shutil.which("unshare")
    return bool(unshare) and not subprocess.call(
        [*as_google.UNSHARE, "true"], stderr=subprocess.DEVNULL
    )


inside = pytest.mark.skipif(not namespaces(), reason="this machine has no user namespaces")


def run_inside(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "emulator.as_google", "--dir", str(folder), *command],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )


def example(language: str) -> str:
    """As it stands in the README."""
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found
    return found[1]


def promised(code: str) -> str:
    """What the README says the example prints: its last comment."""
    return code.splitlines()[-1].lstrip("#/ ")


@inside
def test_the_names_of_google_lead_to_the_emulator(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    hosts = Path("/etc/hosts").read_bytes()
    finished = run_inside(folder, sys.executable, "-c", WHO_IS_GOOGLE)
    assert finished.stdout.count('"status": "ok"') == 3
    assert (finished.returncode, finished.stderr) == (7, "")
    assert Path("/etc/hosts").read_bytes() == hosts


@inside
def test_a_command_that_is_not_there_is_named(folder: Path) -> None:
    finished = run_inside(folder, "nosuchcmd")
    assert finished.returncode == 2
    assert "emulator: cannot run nosuchcmd: No such file or directory" in finished.stderr
    assert "Traceback" not in finished.stderr


@inside
def test_an_emulator_that_cannot_start_says_why(folder: Path) -> None:
    folder.mkdir()
    (folder / "service-account.json").write_text("no JSON")
    finished = run_inside(folder, "echo", "never")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("emulator: cannot use ")


def test_without_namespaces_one_clear_line_says_where_to_look(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    finished = run_inside(folder, "true")
    assert finished.returncode == 2
    assert "emulator: no namespaces on this machine" in finished.stderr
    assert "emulator/README.md" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_certificate_without_the_names_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare() -> tuple[bytes, bytes]:
        certificates.prepare(Folder(folder), now=datetime.now(UTC))
        return (folder / "ca.pem").read_bytes(), (folder / "server.pem").read_bytes()

    folder.mkdir()
    with monkeypatch.context() as before:
        before.setattr(certificates, "GOOGLE_NAMES", ())
        old = prepare()
    new = prepare()
    assert new[0] == old[0]  # whoever trusts it goes on doing so
    assert new[1] != old[1]
    assert prepare() == new


@inside
@pytest.mark.skipif(not find_spec("firebase_admin"), reason="`make bench` installs firebase-admin")
def test_firebase_admin_for_python_sends_unmodified(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "send.py"
    script.write_text(example("python"))
    finished = run_inside(folder, sys.executable, "-W", "ignore", str(script))
    assert finished.stdout.strip() == promised(example("python")), finished.stderr
    assert addresses(folder) == ["device-1", "device-2"]


@inside
@pytest.mark.skipif(
    not (shutil.which("node") and NODE_MODULES.is_dir()),
    reason="`npm install --prefix var/node firebase-admin` lets it run",
)
def test_firebase_admin_for_node_sends_unmodified(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "send.mjs"
    script.write_text(example("js"))
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    finished = run_inside(folder, "node", str(script))
    assert finished.stdout.strip() == promised(example("js")), finished.stderr
    assert addresses(folder) == ["device-1", "device-2"]


def addresses(folder: Path) -> list[str]:
    lines = (folder / "witness.jsonl").read_text().splitlines()
    return sorted(json.loads(line)["address"] for line in lines)
