"""Starts the product with each Python it supports: `python -m tests.pythons`, beside PostgreSQL and
Valkey (`make pythons`).

Each version gets a .venv of its own with requirements.txt alone, so this also shows that a
deployment needs nothing else. A version that the machine lacks is reported and skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from config.front import command as front
from config.stack.answers import http
from tests.given.waiting import eventually
from tests.servers.ports import free_ports

CHECKOUT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PYENV = Path.home() / ".pyenv" / "versions"
CELERY = ("-m", "celery", "-A", "config")
# Imports all but the launcher, which is not deployed, and programs that start when imported.
PREPARE = """
import importlib, pkgutil, django
from django.core.management import call_command
django.setup()
for root in ("config", "campaigns", "notifications"):
    for module in pkgutil.walk_packages([root], f"{root}."):
        launcher = f"{module.name}.".startswith("config.stack.")
        if not launcher and not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
call_command("check")
call_command("migrate", verbosity=0)
"""


class Failed(Exception):
    """With the output of what failed."""


def main(versions: Sequence[str] = VERSIONS) -> int:
    passed = failed = 0
    for version in versions:
        python = find(version)
        if python is None:
            print(f"Python {version}: not on this machine, skipped.", flush=True)
            continue
        began = time.monotonic()
        try:
            start_product(python, version)
        except Failed as error:
            failed += 1
            print(f"Python {version}: FAILED. {error}", flush=True)
        else:
            passed += 1
            seconds = time.monotonic() - began
            print(f"Python {version}: started in {seconds:.0f} s ({python}).", flush=True)
    skipped = len(versions) - passed - failed
    print(f"Pythons: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def find(version: str) -> str | None:
    """A Python of this version that can make a .venv; the newest of pyenv's if none is on PATH."""
    on_path = shutil.which(f"python{version}")
    by_pyenv = sorted(PYENV.glob(f"{version}.*/bin/python{version}"), key=_patch, reverse=True)
    for python in [*([on_path] if on_path else []), *map(str, by_pyenv)]:
        # pyenv has a command for each version it knows, which fails if that is not chosen.
        if subprocess.run([python, "-c", "import ensurepip"], capture_output=True).returncode == 0:
            return python
    return None


def _patch(python: Path) -> int:
    digits = python.parents[1].name.rpartition(".")[2]
    return int(digits) if digits.isdecimal() else -1


def start_product(python: str, version: str) -> None:
    """Install, import, check, migrate, then wait until web, worker and beat are ready."""
    with tempfile.TemporaryDirectory() as name, database(f"python_{version}") as address:
        folder = Path(name)
        ours = str(folder / "venv" / "bin" / "python")
        environment = os.environ | {
            "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "config.settings",
            "FLOWER_BASIC_AUTH": "flower:of-a-test",
        }  # fmt: skip
        # Without bytecode of what is never imported: that takes longer than the rest.
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        _run((python, "-m", "venv", str(folder / "venv")), environment)
        _run((ours, *pip, "--require-hashes", "-r", "requirements.txt"), environment)
        _run((ours, "-c", PREPARE), environment)
        (port,) = free_ports(1)
        web = front.command(port=str(port), processes=1)[1:]
        control = (*CELERY, "worker", "-n", f"python{version}@%h", "-Q", "control", "-c", "1")
        beat = (*CELERY, "beat", "--pidfile=", "-s", str(folder / "schedule"))
        with ExitStack() as running, (folder / "log").open("w") as log:
            started = [
                running.enter_context(_process((ours, *arguments), environment, log.fileno()))
                for arguments in (web, control, beat)
            ]
            answers = http(f"http://127.0.0.1:{port}/readyz")

            def ready() -> bool:
                assert all(process.poll() is None for process in started), "a process ended"
                return answers()

            try:  # with a tick that came from beat through Valkey and the worker
                eventually("/readyz", ready, seconds=300)
            except AssertionError as error:
                raise Failed(f"{error}\n{(folder / 'log').read_text()}") from error


@contextmanager
def database(name: str) -> Iterator[str]:
    """An empty one on the server of DATABASE_URL; its address."""
    server = os.environ["DATABASE_URL"]
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(drop)
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield f"{server.rpartition('/')[0]}/{name}"
        db.execute(drop)


@contextmanager
def _process(
    command: tuple[str, ...], environment: dict[str, str], output: int
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=output, stderr=output,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # nothing it holds is worth waiting for
        process.wait()


def _run(command: tuple[str, ...], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
