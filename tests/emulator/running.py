"""An emulator as the tests meet it: a process, a port, a certificate authority."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from google.auth import crypt, jwt

REPOSITORY = Path(__file__).parents[2]
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "emulator", "--dir", str(folder), *arguments]


def run_to_its_end(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments), cwd=REPOSITORY, capture_output=True, text=True, timeout=20
    )


@cache
def _signer(key: str, key_id: str) -> crypt.RSASigner:
    """Kept, because reading an RSA key takes longer than everything else a test does."""
    signer: crypt.RSASigner = crypt.RSASigner.from_string(key, key_id)
    return signer


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error_codes(self) -> list[str]:
        """FcmError codes: what tells an error of FCM's from one of the API front end."""
        details = self.json["error"].get("details", [])
        return [detail["errorCode"] for detail in details if "errorCode" in detail]


class RunningEmulator:
    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            command(folder, *(arguments or ("--port", "0"))),
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.greeting = self.process.stdout.readline().strip()
        self.url = self.greeting.rpartition(" ")[2]
        self.port = urlsplit(self.url).port or 0
        self.tls = ssl.create_default_context(cafile=folder / "ca.pem")
        self.account = json.loads((folder / "service-account.json").read_text())

    def stop(self, with_signal: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and what it complained about."""
        self.process.send_signal(with_signal)
        _, complaints = self.process.communicate(timeout=10)
        return self.process.returncode, complaints

    # --- HTTP

    def ask(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        connection = HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=10)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            text = response.read().decode()
            return Response(response.status, dict(response.getheaders()), text)
        finally:
            connection.close()

    def open_socket(self, *languages: str) -> ssl.SSLSocket:
        """A connection whose client speaks these, by ALPN; none: it says nothing of that."""
        tls = ssl.create_default_context(cafile=self.folder / "ca.pem")
        if languages:
            tls.set_alpn_protocols(list(languages))
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        return tls.wrap_socket(plain, server_hostname="127.0.0.1")

    def counts(self) -> dict[str, Any]:
        counts: dict[str, Any] = self.ask("GET", "/admin/counts").json
        return counts

    def settings(self, **wanted: Any) -> Response:
        return self.ask("POST", "/admin/settings", json.dumps(wanted))

    def script(self, **wanted: Any) -> dict[str, Any]:
        """A fault."""
        answer = self.ask("POST", "/admin/faults", json.dumps(wanted))
        assert answer.status == 200, answer.text
        scripted: dict[str, Any] = answer.json["faults"][-1]
        return scripted

    def witnessed(self, **question: str) -> list[dict[str, Any]]:
        answer = self.ask("GET", f"/admin/witness?{urlencode(question)}").json
        records: list[dict[str, Any]] = answer["records"]
        return records

    def witness_file(self) -> list[dict[str, Any]]:
        lines = (self.folder / "witness.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    # --- OAuth

    def assertion(self, **changed: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.account["client_email"],
            "aud": GOOGLE_AUDIENCE,
            "scope": SCOPE,
            "iat": now,
            "exp": now + 3600,
        }
        signer = _signer(self.account["private_key"], self.account["private_key_id"])
        assertion: bytes = jwt.encode(signer, claims | changed)
        return assertion.decode()

    def exchange(self, assertion: str, grant_type: str = GRANT_TYPE) -> Response:
        form = urlencode({"grant_type": grant_type, "assertion": assertion})
        return self.ask("POST", "/token", form)

    def token(self, **changed: Any) -> str:
        token: str = self.exchange(self.assertion(**changed)).json["access_token"]
        return token

    def wrong_token(self) -> str:
        """Of the good account of another project."""
        wrong = json.loads((self.folder / "wrong-account.json").read_text())
        right, self.account = self.account, wrong
        try:
            return self.token()
        finally:
            self.account = right

    # --- sending

    def send(
        self,
        message: Any,
        *,
        token: str | None = None,
        project: str = "carillon-demo",
        **request: Any,
    ) -> Response:
        return self.send_text(
            json.dumps({"message": message, **request}), token=token, project=project
        )

    def send_text(
        self, body: str | bytes, *, token: str | None = None, project: str = "carillon-demo"
    ) -> Response:
        headers = {
            "Authorization": f"Bearer {token or self.token()}",
            "Content-Type": "application/json",
        }
        return self.ask("POST", f"/v1/projects/{project}/messages:send", body, headers)
