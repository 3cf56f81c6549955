"""The command line, readable for somebody who has never seen this program."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import orjson

from emulator.faults.fault import KINDS
from emulator.google.catalogue import CATALOGUE
from emulator.settings import Settings

MAX_PROCESSES = 64

DESCRIPTION = """\
A stand-in for Firebase Cloud Messaging (HTTP v1), over HTTPS on this machine only.
Point any sender at it and see what it does with dead tokens, quotas, lost answers and outages.
"""

GUIDE = """\
testing a sender of your own
  1. python -m emulator --dir /tmp/fcm          and keep it running
  2. give your sender these, in place of Google's:
       endpoint         https://127.0.0.1:9099/v1/projects/carillon-demo/messages:send
       service account  /tmp/fcm/service-account.json
       token URI        https://127.0.0.1:9099/token    (the service account names it already)
       trusted CA       /tmp/fcm/ca.pem   (many clients read SSL_CERT_FILE or REQUESTS_CA_BUNDLE)
  3. send. Any token is a live device, unless its beginning says otherwise:
       dead-1  malformed-1  foreign-1  thirdparty-1      always refused, as Google refuses them
       flaky-1  throttled-1  broken-1  lost-1  reset-1   only the first time
       hang-1  slow-1                                    no answer, a late one
     and every refusal there is, by its own word:
       %(answers)s
  4. read what was really accepted:  /tmp/fcm/witness.jsonl, one JSON line each
     (put {"data": {"carillon_id": "1:7"}} into a message to have its repeats counted)

Google's own SDKs know FCM by its name: python -m emulator.as_google --help runs them unmodified.
wrong-account.json is a good key of another project: a sender with it must notice, not delete.

while it runs
  open https://127.0.0.1:9099/ for live counts and a form that scripts faults, or ask it:
  GET  /admin/counts          what was asked, accepted and answered
  GET  /admin/witness         the latest messages; ?id= ?address= ?limit=
  POST /admin/settings        {"latency_ms": 100, "latency_p99_ms": 1500, "quota_per_minute": 6000}
  POST /admin/faults          {"kind": "answer", "answer": "unavailable", "share": 5, "for": 30}
                              %(kinds)s
                              whom: prefix, address, share (percent), each (request or address),
                              times, first_only; when: after, for (seconds); and seed, seconds,
                              accepted (the message counts all the same), retry_after, door (token)
  GET, DELETE /admin/faults   those there are, with their hits; ?id= removes one
  POST /admin/revoke          every access token stops working
  POST /admin/reset           forget everything that happened; {"settings": true} resets those too

settings, also with --set
  %(settings)s
"""


def read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m emulator",
        description=DESCRIPTION,
        epilog=_guide(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--dir", type=Path, required=True, help="its folder, made if missing: keys, CA, witness")
    add("--port", type=port, default=9099, help="default 9099; 0 takes a free one")
    add("--processes", type=processes, default=1, metavar="N", help="serve with N processes")
    add("--latency-ms", type=float, default=60.0, metavar="MS", help="of every answer; default 60")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, see below")
    add("--seed", type=int, default=1, help="of everything that looks like chance; default 1")
    add("--prepare", action="store_true", help="make certificates and service accounts, then exit")
    wanted = parser.parse_args()
    if wanted.prepare and not wanted.port:
        parser.error("--prepare writes the port down, so it needs a real one")
    try:
        settings(wanted)
    except ValueError as problem:
        parser.error(str(problem))
    return wanted


def _guide() -> str:
    defaults = Settings().values().items()
    return GUIDE % {
        "answers": _wrapped(", ".join(CATALOGUE), indent=7),
        "kinds": _wrapped("kinds: " + ", ".join(KINDS), indent=30),
        "settings": "\n  ".join(
            f"{name:<20} {orjson.dumps(value).decode()}" for name, value in defaults
        ),
    }


def _wrapped(text: str, *, indent: int) -> str:
    return textwrap.fill(text, 96 - indent).replace("\n", "\n" + " " * indent)


def settings(wanted: argparse.Namespace) -> Settings:
    chosen = {"latency_ms": wanted.latency_ms}
    for text in wanted.set:
        name, _, value = text.partition("=")
        try:
            chosen[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            chosen[name] = value
    settings = Settings()
    settings.change(chosen)
    return settings


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not a port")
    return number


def processes(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MAX_PROCESSES:
        raise argparse.ArgumentTypeError(f"from 1 to {MAX_PROCESSES}")
    return number
