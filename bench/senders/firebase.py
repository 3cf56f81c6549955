"""The official SDK, firebase-admin, used as its documentation says: 500 messages a call.

Only the address of FCM is changed. The access token, the connections, the threads and the retries
are its own; it trusts the emulator through REQUESTS_CA_BUNDLE and SSL_CERT_FILE.
"""

from __future__ import annotations

import os
import sys
import warnings

import firebase_admin
import uvloop
from firebase_admin import credentials, messaging

from bench.senders import message
from bench.senders.measured import Tally, measured

BATCH = 500
WARM_UP = 100
# It would rather have the newer kind of address; nearly everybody still has tokens.
warnings.filterwarnings("ignore", "Message.token is deprecated", DeprecationWarning)


def _batch(number: int) -> list[messaging.Message]:
    return [_message(each) for each in range(number * BATCH, (number + 1) * BATCH)]


def _message(number: int) -> messaging.Message:
    return messaging.Message(
        token=message.token(number),
        notification=messaging.Notification(title=message.TITLE, body=message.BODY),
        data=message.data(number),
        android=messaging.AndroidConfig(
            priority="high",
            ttl=message.TTL_SECONDS,
            notification=messaging.AndroidNotification(tag=message.TAG),
        ),
    )


def send_each(batches: int) -> None:
    messaging.send_each(_batch(0)[:WARM_UP])
    with measured() as tally:
        for number in range(batches):
            _count(tally, messaging.send_each(_batch(number)))


def send_each_async(batches: int) -> None:
    async def send() -> None:
        await messaging.send_each_async(_batch(0)[:WARM_UP])
        with measured() as tally:
            for number in range(batches):
                _count(tally, await messaging.send_each_async(_batch(number)))

    uvloop.run(send())


def _offer_http1_only(app: firebase_admin.App) -> None:
    """The SDK offers HTTP/2 as well, and has no option not to."""
    client = messaging._get_messaging_service(app)._async_client.async_client
    client._transport._pool._http2 = False  # the plain one, which NO_PROXY makes it take


def _count(tally: Tally, response: messaging.BatchResponse) -> None:
    tally.accepted += response.success_count
    tally.refused += response.failure_count


def main(way: str, messages: int) -> None:
    endpoint = os.environ["FCM_ENDPOINT"]
    service = messaging._MessagingService
    service.FCM_URL = endpoint + "/v1/projects/{0}/messages:send"
    assert service.encode_message(_message(7)) == message.wire(7)
    account = credentials.Certificate(os.environ["FCM_SERVICE_ACCOUNT_FILE"])
    app = firebase_admin.initialize_app(account)
    if way == "http1":
        _offer_http1_only(app)
    {"send_each": send_each}.get(way, send_each_async)(messages // BATCH)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
