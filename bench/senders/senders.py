"""A sender in a process of its own, or several at once: what a message costs it and the emulator.

Only what happens between the word to start and the last answer counts: each sender has imported
its modules, has its access token and has opened its connections by then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

from bench.servers import Environment

Cpu = Callable[[], float]


def measure(
    module: str, *arguments: str, env: Environment, emulator_cpu: Cpu, at_once: int = 1
) -> dict[str, float]:
    crew = [_start(module, arguments, env) for _ in range(at_once)]
    try:
        for sender in crew:
            _await_ready(sender, module)
        before = emulator_cpu()
        for sender in crew:
            assert sender.stdin is not None
            sender.stdin.write("go\n")
            sender.stdin.flush()
        told = [_result(sender, module) for sender in crew]
        served = emulator_cpu() - before
    finally:
        for sender in crew:
            sender.kill()
    return _together(told, served)


def _start(module: str, arguments: tuple[str, ...], env: Environment) -> subprocess.Popen[str]:
    # Two names, because `requests` and `httpx` do not agree; and no proxy on the way to ourselves.
    trust = {"REQUESTS_CA_BUNDLE": env["FCM_CA_FILE"], "SSL_CERT_FILE": env["FCM_CA_FILE"]}
    direct = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **env, **trust, **direct},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _await_ready(sender: subprocess.Popen[str], module: str) -> None:
    assert sender.stdout is not None
    if sender.stdout.readline() != "ready\n":
        raise SystemExit(f"{module} could not send; what it said stands above.")


def _result(sender: subprocess.Popen[str], module: str) -> Mapping[str, float]:
    output, _ = sender.communicate()
    if sender.returncode:
        raise SystemExit(f"{module} broke down; what it said stands above.")
    return dict(json.loads(output))


def _together(told: list[Mapping[str, float]], served: float) -> dict[str, float]:
    """Rates add up; CPU is per message that FCM accepted, whoever sent it."""
    accepted = sum(each["accepted"] for each in told)
    return {
        "accepted": accepted,
        "refused": sum(each["refused"] for each in told),
        "per_second": sum(each["accepted"] / each["seconds"] for each in told),
        "cpu_us": sum(each["cpu_seconds"] for each in told) / accepted * 1e6,
        "emulator_cpu_us": served / accepted * 1e6,
        "peak_mb": max(each["peak_mb"] for each in told),
    }
