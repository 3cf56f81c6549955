"""The process's event loop, in a thread of its own, and the gateways that live in it.

A loop run from the task's own thread resumed a dead task's requests inside the next task: measured,
three ghost sends. So the loop never runs in the main thread, and the ORM never runs in the loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any

import uvloop
from django.conf import settings

from notifications.fcm.fcm import Destination, FcmGateway
from notifications.fcm.transport.chosen import chosen
from notifications.gateway import BadCredentials, Gateway, Outcome, Permit, Push
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import SCOPE, AccountKey, MachineKey, Minter
from notifications.keys.tokens import AccessTokens
from notifications.people.project import Project

logger = logging.getLogger(__name__)
# By project: what it was connected with, and the connection.
_gateways: dict[int, tuple[tuple[object, ...], FcmGateway]] = {}
_making = threading.Lock()  # web servers ask from several threads


@cache
def _made_loop() -> asyncio.AbstractEventLoop:
    """Made at the first use, hence after the fork: sockets and TLS must not be inherited."""
    loop = uvloop.new_event_loop()
    threading.Thread(target=loop.run_forever, name="dispatch", daemon=True).start()
    return loop


def in_loop(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    with _making:
        loop = _made_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def gateway_of(project: Project) -> Gateway:
    """The process's gateway to this project: kept for the life of the process, sockets warm."""
    account = _account_of(project)
    # A new key, project id or endpoint is another gateway: no restart is needed.
    identity = (account and account.stored_at, project.endpoint, project.firebase_project_id)
    known, gateway = _gateways.get(project.pk, (None, None))
    if gateway is None or known != identity:
        if gateway is not None:
            in_loop(gateway.close())
        gateway = in_loop(_connect(project, _minter(project, account))).result(timeout=10)
        _gateways[project.pk] = (identity, gateway)
    return gateway


def minter_of(project: Project, *, scope: str = SCOPE) -> Minter:
    """What mints this project's tokens. Raises BadCredentials when it has nothing to do so."""
    return _minter(project, _account_of(project), scope)


def close() -> None:
    """Let go of every socket. A process that is killed needs none of this."""
    while _gateways:
        _, (_, gateway) = _gateways.popitem()
        in_loop(gateway.close()).result(timeout=5)


def _account_of(project: Project) -> ServiceAccount | None:
    """None: the project sends with this machine's own credentials."""
    if project.uses_default_credentials:
        return None
    account = ServiceAccount.objects.filter(project=project).first()
    if account is None:
        raise BadCredentials(
            "This project has no service account. An engineer sets it with "
            f"`manage.py set_firebase_credentials --project {project.slug} FILE`, or in Projects."
        )
    return account


def _minter(project: Project, account: ServiceAccount | None, scope: str = SCOPE) -> Minter:
    if account is None:
        return MachineKey(ca_file=project.ca_file, scope=scope)
    return AccountKey(account.open(), ca_file=project.ca_file, scope=scope)


async def _connect(project: Project, minter: Minter) -> FcmGateway:
    way = chosen(project.endpoint)
    logger.info("Project %s: messages go to FCM over %s.", project.slug, way)
    return way.gateway(
        Destination(
            endpoint=project.endpoint,
            firebase_project_id=project.firebase_project_id,
            tokens=AccessTokens(minter),
            connections=settings.CONNECTIONS,
            ca_file=project.ca_file,
            proxy=way.through,
        )
    )


def dispatch(gateway: Gateway, messages: Sequence[Push], permit: Permit) -> Future[list[Outcome]]:
    """Start sending; the caller's thread goes on and asks the future."""
    return in_loop(gateway.send(messages, permit))
