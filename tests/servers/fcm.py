"""The far side of the seam: the emulator as a process of its own, over TLS."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any


class Fcm:
    """A running emulator, and what its witness saw."""

    def __init__(self, folder: Path, *, latency_ms: int = 5) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "emulator", "--port", "0", "--dir", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--latency-ms", str(latency_ms)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        assert self.url.startswith("https://"), "the emulator did not start"
        self.tls = ssl.create_default_context(cafile=str(self.ca_file))

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def service_account(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "service-account.json").read_text()))

    @property
    def wrong_account(self) -> dict[str, Any]:
        """A working key of another Firebase project."""
        return dict(json.loads((self.folder / "wrong-account.json").read_text()))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "FCM_ENDPOINT": self.url,
            "FCM_TOKEN_URI": f"{self.url}/token",
            "FCM_CA_FILE": str(self.ca_file),
        }

    def counts(self) -> dict[str, Any]:
        return dict(self._ask("/admin/counts"))

    def witness(self) -> list[dict[str, Any]]:
        """What each address really received, in order."""
        return list(self._ask("/admin/witness?limit=10000")["records"])

    def everything_witnessed(self) -> list[dict[str, Any]]:
        """Also what is too old to be remembered, from the file."""
        lines = (self.folder / "witness.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def change(self, **settings: Any) -> None:
        self._ask("/admin/settings", settings)

    def script(self, kind: str, **fault: Any) -> None:
        """Let something go wrong from now on."""
        self._ask("/admin/faults", {"kind": kind, **fault})

    def mend(self) -> None:
        """Nothing that was scripted goes wrong any more."""
        self._ask("/admin/faults", method="DELETE")

    def revoke(self) -> None:
        """Every token handed out so far stops working."""
        self._ask("/admin/revoke", {})

    def reset(self, *, latency_ms: int = 5) -> None:
        self._ask("/admin/reset", {"settings": True})
        self.change(latency_ms=latency_ms)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def _ask(self, path: str, body: Any = None, *, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        with urllib.request.urlopen(request, context=self.tls, timeout=10) as reply:
            return json.load(reply)
