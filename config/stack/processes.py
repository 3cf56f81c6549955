"""The process table: what `make run` keeps alive besides the two servers."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace

from config.feed import command as feed
from config.front import command as front
from config.stack.answers import celery_worker, http, nothing_to_ask, tcp
from config.stack.small_profile import is_small
from config.stack.state import State
from config.stack.supervision.service import Service

PYTHON = sys.executable
NOT_FLOWERS = ("DATABASE_URL", "SECRET_KEY", "CREDENTIALS_KEY", "ADMIN_PASSWORD")
WORKER_FLAGS = ("--without-gossip", "--without-mingle", "-E", "-l", "INFO")


def processes(state: State, env: Mapping[str, str]) -> list[Service]:
    """The services of the product itself. They are forked, so they share what they import."""
    services = [
        _web(env),
        _feed(env),
        _worker("bulk", env["WORKERS"], env),
        *_other_workers(env),
        _beat(state, env),
        *([_metrics(env)] if env.get("METRICS_PORT") else []),
    ]
    return [replace(service, forks=True) for service in services]


def one_off(name: str, env: Mapping[str, str], *arguments: str) -> Service:
    argv = (PYTHON, "-m", "manage", *arguments)
    return Service(name, argv, env, answers=nothing_to_ask, forks=True)


def _web(env: Mapping[str, str]) -> Service:
    argv = front.command(port=env["PORT"], processes=1 if is_small(env) else 2)
    return Service("web", argv, env, answers=http(f"http://127.0.0.1:{env['PORT']}/readyz"))


def _feed(env: Mapping[str, str]) -> Service:
    port = env["FEED_PORT"]
    return Service("feed", feed.command(port=port), env, http(f"http://127.0.0.1:{port}/healthz"))


def _metrics(env: Mapping[str, str]) -> Service:
    port = env["METRICS_PORT"]
    argv = front.command(application=front.INSIDE, port=port, processes=1)
    return Service("metrics", argv, env, answers=http(f"http://127.0.0.1:{port}/healthz"))


def _other_workers(env: Mapping[str, str]) -> list[Service]:
    """One queue per worker, so that a full queue does not delay a single message.

    `urgent` has two processes, because one may be waiting for FCM's answers. A small stack has one
    worker for all queues except `bulk`: a single message may wait behind three slow tasks.
    """
    if is_small(env):
        return [_worker("urgent", "3", env, queues="urgent,control,outgoing")]
    return [
        _worker("urgent", "2", env),
        _worker("control", "1", env),
        _worker("outgoing", "1", env),
    ]


def _worker(name: str, processes: str, env: Mapping[str, str], queues: str = "") -> Service:
    node = f"{name}@{socket.gethostname()}"
    argv = ("worker", "-n", node, "-Q", queues or name, "-c", processes, *WORKER_FLAGS)
    return Service(
        name=name,
        argv=(PYTHON, "-m", "celery", "-A", "config", *argv),
        env=env,
        answers=celery_worker(env["REDIS_URL"], node),
        # SIGTERM lets it finish its windows; SIGQUIT hands the tasks back to the broker and goes.
        farewell=(signal.SIGTERM, signal.SIGQUIT),
        # Without a launcher the servers end too, and a worker that ends politely would wait for its
        # broker for ever. Its children see the closed pipe and end.
        when_orphaned=signal.SIGKILL,
        # On a busy machine, pages, calls and single messages come before a campaign.
        nice=5 if name == "bulk" else 0,
    )


def _beat(state: State, env: Mapping[str, str]) -> Service:
    argv = ("beat", "-s", str(state.path / "beat" / "schedule"), "--pidfile=")
    return Service("beat", (PYTHON, "-m", "celery", "-A", "config", *argv), env, nothing_to_ask)


def flower(env: Mapping[str, str]) -> Service:
    argv = (
        *("flower", "--address=127.0.0.1", f"--port={env['FLOWER_PORT']}"),
        # 6 kB a task. 2,000 are a quarter of an hour at full rate; its default, 100,000, is 640 MB.
        *("--max_tasks=2000", "--read_only=True", "--purge_offline_workers=600"),
    )
    # In the environment, because every user of the machine can read a command line.
    credentials = {"FLOWER_BASIC_AUTH": f"{env['FLOWER_USER']}:{env['FLOWER_PASSWORD']}"}
    return Service(
        name="flower",
        argv=(PYTHON, "-m", "celery", "-A", "config.flower", *argv),
        env={name: value for name, value in env.items() if name not in NOT_FLOWERS} | credentials,
        answers=http(f"http://127.0.0.1:{env['FLOWER_PORT']}/healthcheck"),
    )


def emulator(state: State, env: Mapping[str, str]) -> Service:
    port = env["EMULATOR_PORT"]
    argv = (PYTHON, "-m", "emulator", "--port", port, "--dir", str(state.emulator))
    # Its phones send receipts where a project asks for them, so a demo campaign gets some.
    beacon = f"http://127.0.0.1:{env['FEED_PORT']}/api/v1/receipts"
    phones = ("--set", "phones=true", "--set", f"beacon_url={beacon}")
    return Service("emulator", (*argv, *phones), env, answers=tcp(int(port)))
