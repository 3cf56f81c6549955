"""Attached account: tokens of the account that Google Cloud attaches to this machine.

They come from the metadata server. google-auth can do this, too, but only with `requests`
installed, which nothing else here needs.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from google.auth import credentials, exceptions

ACCOUNT = "/computeMetadata/v1/instance/service-accounts/default"
SECONDS = 3.0
FLAVOR = {"Metadata-Flavor": "Google"}  # sent and required, so that no other server's answer counts
# google-auth warns each time that `requests` is missing.
logging.getLogger("google.auth._default").setLevel(logging.ERROR)


class AttachedAccount(credentials.Credentials):
    def __init__(self, email: str, scope: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # google-auth has few types
        self.service_account_email = email
        self._scope = scope

    @classmethod
    def detect(cls, scope: str) -> AttachedAccount | None:
        try:
            return cls(_ask(f"{ACCOUNT}/email").strip(), scope)
        except exceptions.GoogleAuthError:
            return None

    def refresh(self, request: object) -> None:
        """Mint a token. Do not use `request`: it would use a proxy, which must not see this."""
        answer = json.loads(_ask(f"{ACCOUNT}/token?scopes={quote(self._scope, safe='')}"))
        self.token = answer["access_token"]
        lives = timedelta(seconds=float(answer["expires_in"]))
        self.expiry = (datetime.now(UTC) + lives).replace(tzinfo=None)  # naive, as in google-auth


def _ask(path: str) -> str:
    host = os.environ.get("GCE_METADATA_HOST", "metadata.google.internal")
    connection = http.client.HTTPConnection(host, timeout=SECONDS)
    try:
        connection.request("GET", path, headers=FLAVOR)
        reply = connection.getresponse()
        text = reply.read().decode()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise exceptions.TransportError(f"the metadata server did not answer: {error}") from error
    finally:
        connection.close()
    if reply.getheader("Metadata-Flavor") != "Google":
        raise exceptions.TransportError("what answered is not Google's metadata server")
    if reply.status >= 500 or reply.status == 429:
        raise exceptions.TransportError(f"the metadata server answered HTTP {reply.status}")
    if reply.status != 200:
        raise exceptions.RefreshError(f"the metadata server answered HTTP {reply.status}")
    return text
