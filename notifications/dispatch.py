"""Dispatch: one event loop per process, in its own thread, and the gateways that run in it.

A loop that ran in the task's own thread resumed a dead task's requests inside the next task: we
measured three ghost sends. So the loop never runs in the main thread, and the ORM never runs in
the loop.
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
from notifications.fcm.transport.selection import choose_transport
from notifications.gateway import BadCredentials, Gateway, Outcome, Permit, Push
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import SCOPE, AccountKey, MachineKey, Minter
from notifications.keys.tokens import AccessTokens
from notifications.people.project import Project

logger = logging.getLogger(__name__)
# By project id: the settings that the gateway was made with, and the gateway.
_gateways: dict[int, tuple[tuple[object, ...], FcmGateway]] = {}
_making = threading.Lock()  # web servers call from several threads


@cache
def _make_loop() -> asyncio.AbstractEventLoop:
    """Create the loop at its first use, so after the fork: a child must not inherit sockets and
    TLS."""
    loop = uvloop.new_event_loop()
    threading.Thread(target=loop.run_forever, name="dispatch", daemon=True).start()
    return loop


def in_loop(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    with _making:
        loop = _make_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def gateway_of(project: Project) -> Gateway:
    """Return the process's gateway to this project. It stays open for the life of the process, so
    its sockets stay warm."""
    account = _account_of(project)
    # A new key, project id or endpoint makes a new gateway, so no restart is needed.
    identity = (account and account.stored_at, project.endpoint, project.firebase_project_id)
    known, gateway = _gateways.get(project.pk, (None, None))
    if gateway is None or known != identity:
        if gateway is not None:
            in_loop(gateway.close())
        gateway = in_loop(_connect(project, _minter(project, account))).result(timeout=10)
        _gateways[project.pk] = (identity, gateway)
    return gateway


def minter_of(project: Project, *, scope: str = SCOPE) -> Minter:
    """Return the minter of this project's access tokens. Raises BadCredentials if the project has
    no service account."""
    return _minter(project, _account_of(project), scope)


def close() -> None:
    """Close every gateway and its sockets. A process that is killed does not need this."""
    while _gateways:
        _, (_, gateway) = _gateways.popitem()
        in_loop(gateway.close()).result(timeout=5)


def _account_of(project: Project) -> ServiceAccount | None:
    """Return the project's service account, or None if it uses this machine's own credentials."""
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
    way = choose_transport(project.endpoint)
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
    """Start sending in the loop. The caller's thread continues and reads the future."""
    return in_loop(gateway.send(messages, permit))
