"""An access token from the emulator, for the senders that have no SDK to fetch one."""

from __future__ import annotations

import json
import os
import ssl
import urllib.parse
import urllib.request

from google.oauth2 import service_account

SCOPES = ["https://www.googleapis.com/auth/firebase.messaging"]
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
PATH = "/v1/projects/carillon-demo/messages:send"


def token() -> str:
    credentials = service_account.Credentials.from_service_account_file(
        os.environ["FCM_SERVICE_ACCOUNT_FILE"], scopes=SCOPES
    )
    assertion = credentials._make_authorization_grant_assertion().decode()
    form = urllib.parse.urlencode({"grant_type": GRANT_TYPE, "assertion": assertion}).encode()
    with urllib.request.urlopen(os.environ["FCM_TOKEN_URI"], form, context=tls()) as reply:
        return str(json.load(reply)["access_token"])


def tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ["FCM_CA_FILE"])
