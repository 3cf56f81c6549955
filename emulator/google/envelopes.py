"""How Google wraps a refusal: one envelope, and the details that may lie in it.

Two families a sender must tell apart: FCM's own errors carry an FcmError, those of the API front
end an ErrorInfo instead. A parse error carries neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.http.replies import NO_HEADERS, Reply, json_reply

Detail = dict[str, Any]
RETRY_AFTER = re.compile(rb"Retry-After: [^\r]*\r\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal: its bytes, and the name the counts know it by."""

    name: str
    reply: Reply

    @property
    def status(self) -> int:
        return int(self.reply.head[9:12])

    def retry_after(self, value: str) -> Answer:
        """The same refusal with this Retry-After; "" for none."""
        head = RETRY_AFTER.sub(b"", self.reply.head)
        if value:
            head = head.replace(b"\r\n", f"\r\nRetry-After: {value}\r\n".encode(), 1)
        return Answer(self.name, Reply(head, self.reply.body))


class Refused(Exception):
    """The request stops here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.name)
        self.answer = answer


def envelope(
    name: str,
    code: int,
    status: str,
    message: str,
    *details: Detail,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = details
    return Answer(name, json_reply({"error": error}, status=code, headers=headers))


def fcm_error(code: str) -> Detail:
    return {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}


def apns_error(status: int, reason: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError",
        "statusCode": status,
        "reason": reason,
    }


def bad_request(field: str, description: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": field, "description": description}],
    }


def error_info(reason: str, domain: str, metadata: dict[str, str]) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


def quota_failure(subject: str, description: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"subject": subject, "description": description}],
    }


def help_link(description: str, url: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.Help",
        "links": [{"description": description, "url": url}],
    }
