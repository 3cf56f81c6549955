"""`manage.py check` in an environment of its own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tests.servers.forked import Ended, run_bare

ROOT = Path(__file__).resolve().parents[2]


FCM = ("FCM_ENDPOINT", "FCM_TOKEN_URI", "FCM_CA_FILE")


def check(*arguments: str, **environment: str) -> Ended:
    """`manage.py check` in this environment."""
    inherited = {name: value for name, value in os.environ.items() if name not in FCM}
    fresh = {"SECRET_KEY": secrets.token_urlsafe(50)}
    return run_bare(
        "manage", "check", *arguments, environment={**inherited, **fresh, **environment}
    )
