"""Key check: tests whether a project's key works, and explains FCM's answer in plain words.

FCM only validates the test message, and its address is made up, so nothing reaches a phone. If FCM
rejects the address, it has accepted the key. The check mints a new token, because one from Redis
would hide that its key was deleted.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext, gettext_lazy

from notifications import dispatch
from notifications.fcm import payload
from notifications.fcm.fcm import Destination
from notifications.fcm.transport.aiohttp_transport import BROKEN, AiohttpGateway, NoSocket
from notifications.fcm.transport.selection import choose_transport
from notifications.gateway import BadCredentials, Push
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import Minter, TokenUnavailable
from notifications.keys.tokens import AccessTokens
from notifications.people.project import Project

SECONDS = 45.0
# FCM accepts no address of this form, and our emulator rejects it, too.
ADDRESS = "malformed-address:made-up-to-check-a-key"
MESSAGE = Push(
    reference="probe", kind="token", address=ADDRESS, platform="android", title="Does it ring?"
)
# Only FCM itself sends these codes, and only a key that works reaches it.
FCM_HAS_READ_IT = ("INVALID_ARGUMENT", "UNREGISTERED", "THIRD_PARTY_AUTH_ERROR")


@dataclass(frozen=True)
class KeyCheck:
    ok: bool
    words: str


@dataclass(frozen=True)
class Reply:
    """FCM's answer to the test message, reduced to what distinguishes the cases."""

    http: int
    code: str = ""  # of FcmError: FCM itself answered
    reason: str = ""  # of ErrorInfo: the API front end answered
    text: str = ""

    @property
    def in_words(self) -> str:
        if self.text:
            return " " + gettext("FCM said: %(text)s") % {"text": self.text}
        return " " + gettext("FCM answered HTTP %(status)s.") % {"status": self.http}


def check_key(project: Project) -> KeyCheck:
    """Ask FCM whether the project's key works. Errors on the way become a failed check, too."""
    try:
        minter = dispatch.minter_of(project)
        if wrong := _of_another_project(project):
            return wrong
        reply = dispatch.in_loop(_ask(project, minter)).result(timeout=SECONDS)
    except BadCredentials as error:
        return KeyCheck(False, str(error))
    except TokenUnavailable as error:
        text = gettext("No token could be obtained, so the key could not be checked: %(why)s.")
        return KeyCheck(False, f"{text % {'why': error}} {THE_WAY}")
    except (*BROKEN, NoSocket, TookTooLong) as error:
        # Its text, not its repr: the repr shows the request's headers, and so the token.
        why = str(error) or type(error).__name__
        text = gettext("FCM could not be reached (%(why)s).")
        return KeyCheck(False, f"{text % {'why': why[:200]}} {THE_WAY}")
    return in_plain_words(reply, project)


THE_WAY = gettext_lazy("Check this machine's network, DNS and firewall, then try again.")


def _of_another_project(project: Project) -> KeyCheck | None:
    if project.uses_default_credentials:
        return None
    owner = ServiceAccount.objects.get(project=project).open()["project_id"]
    if owner == project.firebase_project_id:
        return None
    text = gettext(
        "The key belongs to the Firebase project “%(owner)s”, but this project sends as "
        "“%(project)s”. Set that project's key, or correct the ID."
    )
    return KeyCheck(False, text % {"owner": owner, "project": project.firebase_project_id})


async def _ask(project: Project, minter: Minter) -> Reply:
    gateway = _CheckingGateway(
        Destination(
            endpoint=project.endpoint,
            firebase_project_id=project.firebase_project_id,
            tokens=AccessTokens(minter, shared=False),
            connections=1,
            ca_file=project.ca_file,
            proxy=choose_transport(project.endpoint).through,
        )
    )
    try:
        return await gateway.ask()
    finally:
        await gateway.close()


class _CheckingGateway(AiohttpGateway):
    """The gateway that sends, with one extra request: validate a message, but do not send it."""

    async def ask(self) -> Reply:
        body = orjson.dumps({"validateOnly": True, "message": payload.as_fcm(MESSAGE)})
        response = await self._post(body, await self._tokens.current(), lambda: None)
        return parse_reply(response.status, response.body)


def parse_reply(http: int, body: bytes) -> Reply:
    try:
        error = orjson.loads(body)["error"]
        details = {d["@type"].rpartition(".")[2]: d for d in error.get("details", [])}
        return Reply(
            http,
            code=_text(details.get("FcmError", {}).get("errorCode")),
            reason=_text(details.get("ErrorInfo", {}).get("reason")),
            text=_text(error.get("message")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Reply(http)


def _text(value: Any) -> str:
    return value[:300] if isinstance(value, str) else ""


def in_plain_words(reply: Reply, project: Project) -> KeyCheck:
    """Explain what the answer says about the key, and what to do. The first row that fits wins."""
    name = project.firebase_project_id
    if reply.http == 200 or (reply.code in FCM_HAS_READ_IT and reply.http in (400, 401, 404)):
        works = gettext("The key works: FCM read a test message. Nothing was sent.")
        return KeyCheck(True, works)
    for fits, words in (
        (_is_of_another_sender(reply),
         gettext("The key belongs to another Firebase project than {project}.")),
        (_is_switched_off(reply), SWITCHED_OFF),
        (_lacks_scope(reply), gettext(
            "These credentials may not send: they lack FCM's scope. On Google Cloud, give the "
            "machine the scope “cloud-platform”.")),
        (reply.http == 403, ROLE_MISSING),
        (reply.http == 401, gettext("FCM refuses the token that this key got. Make a new key.")),
        (reply.http == 404, gettext(
            "There is no Firebase project “{project}”, or FCM does not know it. Correct the "
            "Firebase project ID.")),
        (reply.http == 429,
         gettext("FCM is too busy with this project to check. Try again in a minute.")),
        (reply.http >= 500, gettext("FCM has a problem of its own. Try again in a minute.")),
    ):  # fmt: skip
        if fits:
            return KeyCheck(False, str(words).format(project=name) + reply.in_words)
    text = gettext("FCM gave an unexpected answer, HTTP %(status)s.")
    return KeyCheck(False, text % {"status": reply.http} + reply.in_words)


SWITCHED_OFF = gettext_lazy(
    "The Firebase Cloud Messaging API (V1) is switched off in {project}. Enable it at "
    "https://console.cloud.google.com/apis/library/fcm.googleapis.com?project={project} "
    "and wait a few minutes."
)
ROLE_MISSING = gettext_lazy(
    "The key may not send for {project}: its account lacks the permission "
    "cloudmessaging.messages.create. Give it the role “Firebase Cloud Messaging API Admin” in that "
    "project, and check that the Firebase project ID is right."
)


def _is_of_another_sender(reply: Reply) -> bool:
    return reply.code == "SENDER_ID_MISMATCH" or "SenderId mismatch" in reply.text


def _is_switched_off(reply: Reply) -> bool:
    unused = "has not been used" in reply.text or "it is disabled" in reply.text
    return reply.http == 403 and (reply.reason == "SERVICE_DISABLED" or unused)


def _lacks_scope(reply: Reply) -> bool:
    return reply.reason == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
