"""Mailing: sends one e-mail through Django's backend, within a time limit.

It runs in a thread and uses no database. Django bounds each command to the mail server, but not all
of them together. With twenty addresses, a slow server would hold a call for minutes, while another
worker takes it over and sends it once more.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from notifications.webhooks.call import Call
from notifications.webhooks.transports import https_post
from notifications.webhooks.transports.https_post import Answer

TOTAL_SECONDS = 25.0  # with the last command, less than claiming.UNDER_WAY


def send(message: EmailMessage) -> Answer:
    """Send an e-mail. Never raises for what the mail server did."""
    began = https_post.now()
    if not settings.EMAIL_IS_SET:
        return Answer(error=Call.Error.NO_EMAIL)
    message.connection = get_connection()
    try:
        with _end_in_time(message.connection):
            message.send()
    except Exception as error:  # of smtplib, ssl and sockets
        return https_post.failed(error, began, otherwise=Call.Error.REFUSED)
    return Answer(took_ms=https_post.since(began))


@contextlib.contextmanager
def _end_in_time(connection: Any) -> Iterator[None]:
    """End the connection after TOTAL_SECONDS, whatever the server does."""
    ends_at = time.monotonic() + TOTAL_SECONDS
    clock = threading.Timer(TOTAL_SECONDS, _hang_up, [connection])
    clock.daemon = True
    clock.start()
    try:
        yield
    except Exception as error:
        if time.monotonic() < ends_at:
            raise
        raise TimeoutError("no answer in time") from error  # it broke because we ended it
    finally:
        clock.cancel()


def _hang_up(connection: Any) -> None:
    smtp = getattr(connection, "connection", None)  # none while it connects, which is bounded
    if smtp is not None and smtp.sock is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(smtp.sock, socket.SHUT_RDWR)
