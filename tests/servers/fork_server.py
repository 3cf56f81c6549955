"""A process that has imported third-party packages, and forks processes that already have them.

It imports nothing of ours, because each forked process reads its own checkout and environment. Its
standard input is a socket to the client (forked.py). An order and a file for the new process's
standard input come in; its pid goes out, and later its exit code.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

PACKAGES = (
    *("aiohttp", "celery.apps.beat", "celery.apps.worker", "celery.bin.celery", "click_repl"),
    *("celery.concurrency.prefork", "celery.worker.consumer", "cryptography.fernet", "granian"),
    *("django.contrib.admin.options", "django.contrib.postgres.fields", "django.core.management"),
    *("django.core.handlers.wsgi", "django.db.backends.postgresql.base", "django.test"),
    *("django_otp", "drf_spectacular", "google.oauth2.service_account", "icalendar", "uvloop"),
    *("kombu.transport.redis", "liquid", "orjson", "prometheus_client", "qrcode", "redis.asyncio"),
    *("requests", "rest_framework", "rest_framework.exceptions", "whitenoise.middleware"),
)
LONGEST = 64 * 1024  # bytes of an order
PR_SET_PDEATHSIG = 1


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    gc.disable()
    for name in PACKAGES:
        with suppress(Exception):  # some need settings in the end; the rest is imported
            import_module(name)
    gc.collect()
    gc.freeze()
    gc.enable()
    server = os.getpid()
    if order := serve(socket.socket(fileno=sys.stdin.fileno())):
        become(order, server)


def serve(asker: socket.socket) -> dict[str, Any] | None:
    """Returns the order in a forked process, and None in the server when the client has ended."""

    def report(*_: object) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                tell(pid=ended[0], code=os.waitstatus_to_exitcode(ended[1]))

    def tell(**what: int) -> None:
        asker.send(json.dumps(what).encode())

    tell()
    signal.signal(signal.SIGCHLD, report)
    while (asked := socket.recv_fds(asker, LONGEST, 1))[0]:
        (stdin,) = asked[1]
        if pid := os.fork():
            os.close(stdin)
            tell(pid=pid)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asker.close()
        os.dup2(stdin, 0)
        os.close(stdin)
        return dict(json.loads(asked[0]))
    return None


def become(order: dict[str, Any], server: int) -> None:
    """The process that was asked for, as if `python -m` had started it there."""
    os.setsid()
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["checkout"])
    sys.path[0] = order["checkout"]
    sys.argv = order["argv"]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
