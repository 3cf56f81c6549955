"""The process's event loop, in a thread of its own, and the gateways that live in it.

A loop run from the task's own thread resumed a dead task's requests inside the next task: measured,
three ghost sends. So the loop never runs in the main thread, and the ORM never runs in the loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any

import uvloop
from django.conf import settings

from notifications.credentials import AccessTokens, ServiceAccount
from notifications.fcm import FcmGateway
from notifications.gateway import BadCredentials, Gateway, Message, Outcome, Permit
from notifications.project import Project

# By project: what it was connected with, and the connection.
_gateways: dict[int, tuple[tuple[object, ...], FcmGateway]] = {}


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Made at the first use, hence after the fork: sockets and TLS must not be inherited."""
    loop = uvloop.new_event_loop()
    threading.Thread(target=loop.run_forever, name="dispatch", daemon=True).start()
    return loop


def _run(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


def gateway_of(project: Project) -> Gateway:
    """The process's gateway to this project: kept for the life of the process, sockets warm."""
    account = ServiceAccount.objects.filter(project=project).first()
    if account is None:
        raise BadCredentials(
            "This project has no service account. An engineer sets it with "
            f"`manage.py set_firebase_credentials --project {project.slug} FILE`."
        )
    # A new key, project id or endpoint is another gateway: no restart is needed.
    identity = (account.stored_at, project.endpoint, project.firebase_project_id)
    known, gateway = _gateways.get(project.pk, (None, None))
    if gateway is None or known != identity:
        if gateway is not None:
            _run(gateway.close())
        gateway = _run(_connect(project, account.open())).result(timeout=10)
        _gateways[project.pk] = (identity, gateway)
    return gateway


def close() -> None:
    """Let go of every socket. A process that is killed needs none of this."""
    while _gateways:
        _, (_, gateway) = _gateways.popitem()
        _run(gateway.close()).result(timeout=5)


async def _connect(project: Project, info: dict[str, Any]) -> FcmGateway:
    return FcmGateway(
        endpoint=project.endpoint,
        firebase_project_id=project.firebase_project_id,
        tokens=AccessTokens(info, ca_file=project.ca_file),
        connections=settings.CONNECTIONS,
        ca_file=project.ca_file,
    )


def dispatch(
    gateway: Gateway, messages: Sequence[Message], permit: Permit
) -> Future[list[Outcome]]:
    """Start sending; the caller's thread goes on and asks the future."""
    return _run(gateway.send(messages, permit))
