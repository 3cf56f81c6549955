"""The published problems, played as they were: S2's chat, S3's enqueues, S4's thousand mails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import people
from bench.messages.callers import Calls, message
from bench.messages.outcome import Part, answers, ids_of
from bench.stack import Stack
from bench.table import row, rule

PEOPLE = 2_000
CHATTERS, MAILS = 2_000, 1_000
ENQUEUES, ENQUEUES_A_SECOND = 1_000, 50
REPEATED = 10  # of how many mails one comes again

Found = dict[str, Any]


def measure(folder: Path, *, few: float = 1.0) -> Found:
    """`few`: this share of the calls, for those who only see whether it runs."""
    with Stack(folder) as stack:
        people.fill(stack, PEOPLE)
        _warm(stack)
        found = {
            "chat": _play(stack, "at once", _chat(int(CHATTERS * few))),
            "enqueues": _play(
                stack, "steadily", _mails(int(ENQUEUES * few), "enqueue"), rate=ENQUEUES_A_SECOND
            ),
            "mails": _play(stack, "at once", _again(_mails(int(MAILS * few), "mail"))),
            "one_call": _play(stack, "at once", [_one_call(int(MAILS * few))]),
        }
    return {**found, "text": text(found)}


def _chat(count: int) -> list[Found]:
    """Each writes to the next one, in rooms of ten."""
    return [
        {**message(number, PEOPLE), "collapse": f"room-{number // 10}", "priority": "high",
         "deduplicate": {"key": f"chat-{number}"}}
        for number in range(count)
    ]  # fmt: skip


def _mails(count: int, name: str) -> list[Found]:
    return [
        message(number, PEOPLE) | {"deduplicate": {"key": f"{name}-{number}"}}
        for number in range(count)
    ]


def _again(mails: list[Found]) -> list[Found]:
    return mails + mails[::REPEATED]


def _one_call(count: int) -> Found:
    to = {"contacts": [f"b{number + 1}" for number in range(count)]}
    return {**message(0, PEOPLE), "to": to, "deduplicate": {"key": "newsletter"}}


def _warm(stack: Stack) -> None:
    """The first message of a day makes its run, and each worker opens its connections."""
    _play(stack, "steadily", _mails(50, "warm"), rate=20)


def _play(stack: Stack, how: str, bodies: list[Found], **more: Any) -> Found:
    stack.emulator("/admin/reset", {})
    part = Part(stack)
    heard = Calls(stack, how, bodies=bodies, **more).heard()
    told = part.end(ids_of(heard))
    told.pop("lags")
    again = sum(each.status == 200 for each in heard)
    wanted = sum(len(body["to"].get("contacts", "1")) for body in bodies) - again
    return {**answers(heard), **told, "again": again, "wanted": wanted}


def text(found: Found) -> str:
    chat, enqueues, mails = found["chat"], found["enqueues"], found["mails"]
    one = found["one_call"]
    lines = [
        ("S2: callers at once", "2,000", f"{chat['calls']:,}"),
        ("  calls that failed", "35 %, later 12 %", _share(chat["calls"] - chat["accepted"], chat)),
        ("  stored", "468 of 1,000", _of(chat, "stored")),
        ("  pushed", "", _of(chat, "pushed")),
        ("S3: an enqueue, p50", "60 ms, later 10 ms", f"{enqueues['p50_ms']:.1f} ms"),
        ("  p90", "1,300 ms, later 800 ms", f"{enqueues['p90_ms']:.1f} ms"),
        ("S4: mails at once, accepted", "98.3 %, later 100 %", _share(mails["accepted"], mails)),
        ("  p95", "6.1 s, later 4.9 s", f"{mails['p95_ms'] / 1000:.2f} s"),
        ("  pushed", "600 of 1,000", _of(mails, "pushed")),
        ("  came again, recognised", "", f"{mails['again']:,}, twice {mails['twice']:,}"),
        ("  in one call: pushed", "", _of(one, "pushed")),
        ("Calls, rows and witness agree", "", _agree(list(found.values()))),
    ]
    head = ("theirs", "ours")
    cells = [row(name, (theirs, ours), width=24) for name, theirs, ours in lines]
    return "\n".join([row("The published problems", head, width=24), rule(head), *cells])


def _share(count: int, found: Found) -> str:
    return f"{count / found['calls']:.1%}"


def _of(found: Found, name: str) -> str:
    return f"{found[name]:,} of {found['wanted']:,}"


def _agree(parts: list[Found]) -> str:
    """Every one that is accepted is stored, has a row, and reached FCM."""
    agree = all(
        each["stored"] == each["rows"] == each["pushed"] == each["wanted"] and not each["lost"]
        for each in parts
    )
    return "yes" if agree else "NO"
