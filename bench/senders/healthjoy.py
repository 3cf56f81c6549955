"""(d) async-firebase, used as its documentation says: `send_each` with 500 messages a call.

Only FCM's address and the token's are changed. Its limits (100 connections, of which 20 are kept
alive) are its own, as is its HTTP/1.1; HTTP/2 is its option.
"""

from __future__ import annotations

import os
import sys

import uvloop
from async_firebase import AsyncFirebaseClient, _credentials, messages

from bench.senders import message
from bench.senders.measured import measured

BATCH = 500
WARM_UP = 100


def _message(number: int) -> messages.Message:
    return messages.Message(
        token=message.token(number),
        notification=messages.Notification(title=message.TITLE, body=message.BODY),
        data=message.data(number),
        android=messages.AndroidConfig(
            priority="high",
            ttl=f"{message.TTL_SECONDS}s",
            notification=messages.AndroidNotification(tag=message.TAG),
        ),
    )


async def _send_all(way: str, count: int) -> None:
    # Its pool waits 5 s for a connection and then gives the message up; that is not asked here.
    client = AsyncFirebaseClient(use_http2=way == "http2")
    client.BASE_URL = os.environ["FCM_ENDPOINT"]
    client.creds_from_service_account_file(os.environ["FCM_SERVICE_ACCOUNT_FILE"])
    _credentials.TOKEN_URL = client._credentials._token_uri
    await client.send_each([_message(number) for number in range(WARM_UP)])
    with measured() as tally:
        for first in range(0, count, BATCH):
            batch = [_message(number) for number in range(first, first + BATCH)]
            answer = await client.send_each(batch)
            tally.accepted += answer.success_count
            tally.refused += answer.failure_count
    await client.close()


if __name__ == "__main__":
    uvloop.run(_send_all(sys.argv[1], int(sys.argv[2])))
