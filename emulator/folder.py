"""The folder an emulator lives in: where each file is, and how a secret is written there.

A crash leaves either the old file or the new one, never half of one.
"""

from __future__ import annotations

import os
from pathlib import Path


class Unusable(Exception):
    """The emulator cannot start here; the message is the one line its operator reads."""


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.authority = path / "ca.pem"
        self.authority_key = path / "ca.key"
        self.certificate = path / "server.pem"
        self.certificate_key = path / "server.key"
        self.service_account = path / "service-account.json"
        self.wrong_account = path / "wrong-account.json"
        self.witness = path / "witness.jsonl"

    def create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(self.path))


def write(path: Path, content: bytes, *, private: bool) -> None:
    """Replace the file in one step. A private one is unreadable to others from its birth on."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)
