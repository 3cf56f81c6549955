"""The private key and the bearer token are in no page, log, error, row or dump we could leak."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from time_machine import travel

from notifications import dispatch, key_check
from notifications.gateway import BadCredentials, Outcome, Permit, Push
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import AccountKey
from notifications.keys.tokens import AccessTokens
from notifications.people.project import Project
from tests.given.private_key import another_private_key
from tests.servers.fcm import Fcm

ADDRESSES = ["live1:APA91b", "dead-1:APA91b", "reset-1:APA91b", "lost-1:APA91b", "flaky-1:APA91b"]


class Secrets:
    """What must not be found, and everything that has been looked at so far."""

    def __init__(self, account: dict[str, Any], token: str) -> None:
        body = "".join(account["private_key"].splitlines()[1:-1])
        # Any 40 characters in a row are a leak, wherever the lines were broken.
        self.pieces = {body[at : at + 40] for at in (0, 400, 800, 1_200)}
        self.pieces |= {token[200:240], token[-40:], "ya29.c."}  # the start of every token

    def assert_absent(self, where: str, text: str | bytes) -> None:
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        flat = re.sub(r"\\n|\s", "", text)
        for piece in self.pieces:
            assert piece not in flat, f"{piece[:6]}… is in {where}"


@pytest.fixture
def secrets(project: Project, fcm: Fcm) -> Secrets:
    """After a key was stored and used, well and badly."""
    tokens = AccessTokens(AccountKey(fcm.service_account, ca_file=str(fcm.ca_file)))
    return Secrets(fcm.service_account, asyncio.run(tokens.current()))


def send(project: Project) -> list[Outcome]:
    messages = [
        Push(reference=f"1:{n}", kind="token", address=each, platform="android", title="x")
        for n, each in enumerate(ADDRESSES)
    ]
    gateway = dispatch.gateway_of(project)
    return dispatch.dispatch(gateway, messages, Permit(60)).result(timeout=30)


def test_no_log_line_and_no_outcome_holds_them(
    project: Project, fcm: Fcm, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    outcomes = send(project)
    fcm.revoke()
    outcomes += send(project)
    key_check.check_key(project)

    assert {"accepted", "dead_address", "unanswered"} <= {each.verdict for each in outcomes}
    secrets.assert_absent("an outcome", repr(outcomes))
    secrets.assert_absent("the log", caplog.text)


def test_no_error_holds_them_not_even_in_its_trace(
    project: Project, fcm: Fcm, secrets: Secrets
) -> None:
    def said(error: BaseException | None) -> str:
        texts = []
        while error:
            texts += [repr(error), str(error.__dict__)]
            error = error.__cause__ or error.__context__
        return " ".join(texts)

    account = fcm.service_account
    wrong = {**account, "private_key": another_private_key()}
    with pytest.raises(BadCredentials) as refused:
        AccountKey(wrong, ca_file=str(fcm.ca_file)).mint()
    secrets.assert_absent("the refused key", said(refused.value))
    with travel(time.time() + 7_300), pytest.raises(BadCredentials) as late:
        AccountKey(account, ca_file=str(fcm.ca_file)).mint()
    secrets.assert_absent("the wrong clock", said(late.value))
    with pytest.raises(Exception, match="private_key") as cut:
        ServiceAccount.store(project, {**account, "private_key": account["private_key"][:-80]})
    secrets.assert_absent("the key cut short", said(cut.value))


def test_no_page_holds_them(project: Project, fcm: Fcm, secrets: Secrets, client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada", "a@example.com", "a long pass phrase"))
    key = json.dumps(fcm.service_account)
    actions = ("set_credentials", "check_key", "use_machine")
    pages = [reverse(f"admin:notifications_project_{each}", args=[project.pk]) for each in actions]
    for url in pages:
        for values in ({"key": key}, {"key": key[:-200]}, {"key": key.replace("/token", "/x")}):
            reply = client.post(url, {"_form_submitted": "on", **values})
            secrets.assert_absent(url, reply.content + repr(reply.cookies).encode())
    for name in ("notifications_project_changelist", "notifications_auditentry_changelist"):
        pages.append(reverse(f"admin:{name}"))
    pages.append(reverse("admin:notifications_project_change", args=[project.pk]))
    for url in pages:
        reply = client.get(url)
        assert reply.status_code == 200
        secrets.assert_absent(url, reply.content)


def test_no_command_prints_them(
    project: Project, fcm: Fcm, secrets: Secrets, tmp_path: Any
) -> None:
    key = json.dumps(fcm.service_account)
    for text in (key, key[:-200], key.replace("carillon-demo", "x"), key.replace("/token", "/x")):
        file, out = tmp_path / "key.json", StringIO()
        file.write_text(text)
        try:
            call_command("set_firebase_credentials", file, "--project", project.slug, stdout=out)
        except CommandError as error:
            out.write(f"{error!r} {error.__cause__!r} {error.__context__!r}")
        secrets.assert_absent("the command's output", out.getvalue())


def test_neither_redis_nor_the_database_holds_them_in_the_open(
    project: Project, fcm: Fcm, secrets: Secrets
) -> None:
    send(project)
    url = urlsplit(os.environ["REDIS_URL"])
    seen = []
    for number in range(4):
        first = int(url.path.strip("/") or 0)
        database = redis.Redis.from_url(url._replace(path=f"/{first + number}").geturl())
        for key in database.scan_iter():
            seen.append(key)
            secrets.assert_absent(key.decode(), key + (database.dump(key) or b""))
            if database.type(key) == b"hash":  # a dump may be compressed
                secrets.assert_absent(key.decode(), repr(database.hgetall(key)))
    assert any(key.startswith(b"token:") for key in seen)

    for model in apps.get_models():
        for row in model._default_manager.values():
            secrets.assert_absent(model.__name__, repr(row))
    assert ServiceAccount.objects.exists()
