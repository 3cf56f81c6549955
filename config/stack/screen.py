"""Terminal output of `make run`: a line per step, and one screen when everything answers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

from config.stack import external_fcm
from config.stack.servers.servers import without_password
from config.stack.small_profile import is_small
from config.stack.state import State
from config.stack.supervision.account import data_folders

SUPPORT = (
    "embedded servers are for evaluation and small single-box use; "
    "set DATABASE_URL and REDIS_URL for production"
)


class Console:
    def __init__(self) -> None:
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:5.1f} s] {text}", flush=True)


def complain(text: str) -> None:
    print(f"carillon: {text}", file=sys.stderr, flush=True)


def screen(state: State, env: Mapping[str, str], embedded: Mapping[str, bool]) -> str:
    app = f"http://127.0.0.1:{env['PORT']}"
    rows = [
        ("Carillon", f"{app}/admin/"),
        ("  log-in", f"admin / {env['ADMIN_PASSWORD']}   (until you change it)"),
        ("API", f"{app}/api/v1/"),
        ("  docs", f"{app}/api/docs/"),
        ("Live inbox", f"http://127.0.0.1:{env['FEED_PORT']}/api/v1/me/inbox/stream"),
        ("Demo phones", f"{app}/demo/phone"),
        ("Health", f"{app}/readyz   {_metrics(env)}/metrics"),
        *_flower(env),
        _fcm(env),
        ("PostgreSQL", _server(env["DATABASE_URL"], embedded["DATABASE_URL"], state)),
        ("Valkey", _server(env["REDIS_URL"], embedded["REDIS_URL"], state)),
        ("Logs", f"{state.logs}/*.log"),
    ]
    addresses = "\n".join(f"  {name:<11} {value}" for name, value in rows)
    data = " and ".join(str(folder) for folder in data_folders(state.path))
    first = _first(env) + "  Next: log in, open Campaigns, and launch the demo campaign:"
    support = f"\n  {SUPPORT}\n" if any(embedded.values()) else ""
    return f"""
Carillon rings.

{addresses}

{first} 20,000 contacts are waiting for it.
        In a second shell: .venv/bin/python manage.py report --help
  Ctrl-C ends every process; the data stay in {data}.
{support}"""


def _flower(env: Mapping[str, str]) -> list[tuple[str, str]]:
    if is_small(env):
        return [("Flower", "not started (SMALL=1)")]
    return [
        ("Flower", f"http://127.0.0.1:{env['FLOWER_PORT']}/"),
        ("  log-in", f"{env['FLOWER_USER']} / {env['FLOWER_PASSWORD']}"),
    ]


def _fcm(env: Mapping[str, str]) -> tuple[str, str]:
    if external_fcm.environment(os.environ):
        return "FCM", f"{env['FCM_ENDPOINT']}   (FCM_ENDPOINT: the emulator was not started)"
    return "Emulator", f"{env['FCM_ENDPOINT']}/   (instead of FCM: no phone rings)"


def _first(env: Mapping[str, str]) -> str:
    if "FCM_SERVICE_ACCOUNT_FILE" in env:
        return ""
    return (
        f"  First: give the demo project a key that {env['FCM_ENDPOINT']} knows:\n"
        "        .venv/bin/python manage.py set_firebase_credentials --project demo FILE\n"
    )


def _metrics(env: Mapping[str, str]) -> str:
    return f"http://127.0.0.1:{env.get('METRICS_PORT') or env['PORT']}"


def _server(url: str, embedded: bool, state: State) -> str:
    note = f"   (embedded; password in {state.env_file})" if embedded else ""
    return without_password(url) + note
