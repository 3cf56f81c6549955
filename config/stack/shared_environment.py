"""The environment of every process of a stack, and of `manage.py` in another shell."""

from __future__ import annotations

import os
from collections.abc import Mapping

from config.stack import external_fcm
from config.stack.small_profile import is_small
from config.stack.state import State
from config.stack.supervision.leftovers import MARK

INTERNAL = {"POSTGRES_PASSWORD", "DATABASE_PASSWORD", "VALKEY_PASSWORD"}


def shared(secrets: Mapping[str, str], urls: Mapping[str, str]) -> dict[str, str]:
    """What every process of the product needs: the servers' addresses and the secrets."""
    return {**urls, **{name: value for name, value in secrets.items() if name not in INTERNAL}}


def of_a_run(state: State, environ: Mapping[str, str], ports: Mapping[str, int]) -> dict[str, str]:
    """What belongs to a running stack: sizes, ports, and the stand-in for FCM."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    defaults = {
        "CARILLON_ENV": "development",
        # Each waits for FCM half of its time.
        "WORKERS": str(1 if is_small(environ) else 2 * cores),
        "CONNECTIONS": "250",
        "METRICS_DIR": str(state.path / "measures"),
    }
    chosen = {name: environ.get(name) or value for name, value in defaults.items()}
    fcm = external_fcm.environment(environ) or _emulators(state, ports["EMULATOR_PORT"])
    return chosen | fcm | {name: str(port) for name, port in ports.items()}


def _emulators(state: State, port: int) -> dict[str, str]:
    address = f"https://127.0.0.1:{port}"
    return {
        "FCM_ENDPOINT": address,
        "FCM_TOKEN_URI": f"{address}/token",
        "FCM_CA_FILE": str(state.emulator / "ca.pem"),
        "FCM_SERVICE_ACCOUNT_FILE": str(state.emulator / "service-account.json"),
    }


def marked(environ: Mapping[str, str], state: State, exported: Mapping[str, str]) -> dict[str, str]:
    """A child's whole environment; the mark stays out of var/env, which people read into shells."""
    # A process that sets its own title overwrites its environment, and so the mark.
    added = {"PYTHONUNBUFFERED": "1", "SPT_NOENV": "1", MARK: str(state.path)}
    return {**environ, **exported, **added}
