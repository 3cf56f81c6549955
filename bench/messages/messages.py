"""The door and the fast lane: how quickly a message is accepted, and how soon it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import launch, people
from bench.messages.callers import Calls, message
from bench.messages.outcome import Part, answers, ids_of, milliseconds
from bench.stack import Stack
from bench.table import row, rule

CAMPAIGN = 300_000
RATE = 300
SECONDS = 60
CONNECTIONS = 2_000
AT_ONCE = 1_000
BULK, OF_EACH = 50_000, 1_000
BESIDE = (50, 300)  # messages a second beside a campaign
LONGEST = 600  # seconds of a campaign, for which steady callers have bodies

Found = dict[str, Any]


def measure(
    folder: Path, campaign: int, *, seconds: float = SECONDS, few: float = 1.0
) -> dict[str, Any]:
    """`few`: this share of the calls, for those who only see whether it runs."""
    found: Found = {}
    with Stack(folder) as stack:
        people.fill(stack, campaign)
        warm(stack, campaign)
        found["door"] = _steady(stack, RATE, seconds, campaign)
        found["alone"] = _steady(stack, BESIDE[0], seconds / 2, campaign)
        found["bulk"] = _bulk(stack, int(BULK * few), campaign)
        found["connections"] = _at_once(stack, int(CONNECTIONS * few), campaign, opened=True)
        found["at_once"] = _at_once(stack, int(AT_ONCE * few), campaign, opened=False)
        found["campaign"] = launch.measure(stack)
        for rate in BESIDE:
            found[f"beside_{rate}"] = _beside(stack, rate, campaign)
    return {**found, "text": text(found)}


_made = 0


def fresh(count: int, people: int) -> tuple[int, int, int]:
    """Messages whose keys nobody has used yet."""
    global _made
    _made += count
    return _made - count, count, people


def warm(stack: Stack, people: int) -> None:
    """The first message of a day makes its run, and each worker opens its connections."""
    part = Part(stack)
    part.end(ids_of(Calls(stack, "steadily", messages=fresh(100, people), rate=20).heard()))


def _steady(stack: Stack, rate: int, seconds: float, people: int) -> Found:
    stack.emulator("/admin/reset", {})
    part = Part(stack)
    ours = fresh(int(rate * seconds), people)
    heard = Calls(stack, "steadily", messages=ours, rate=rate).heard()
    ids = ids_of(heard)
    told = part.end(ids, leaving=ids)
    return {**answers(heard), **told, "lag": milliseconds(told.pop("lags"))}


def _at_once(stack: Stack, count: int, people: int, *, opened: bool) -> Found:
    stack.emulator("/admin/reset", {})
    part = Part(stack)
    how = "opened" if opened else "at once"
    heard = Calls(stack, how, messages=fresh(count, people)).heard()
    told = part.end(ids_of(heard))
    told.pop("lags")
    return {**answers(heard), **told}


def _bulk(stack: Stack, count: int, people: int) -> Found:
    stack.emulator("/admin/reset", {})
    part, (first, *_) = Part(stack), fresh(count, people)
    rows = [message(first + number, people) for number in range(count)]
    bodies = [{"messages": rows[at : at + OF_EACH]} for at in range(0, count, OF_EACH)]
    heard = Calls(stack, "by a few", bodies=bodies, path="messages/bulk").heard()
    began, ended = min(one.asked for one in heard), max(one.answered for one in heard)
    ids = [row["id"] for one in heard if one.status == 200 for row in one.said["accepted"]]
    told = part.end(ids)
    told.pop("lags")
    rates = {
        "per_second": len(ids) / (ended - began),
        "pushed_per_second": told["pushed"] / max(0.001, told["last_at"] - began),
    }
    return {**answers(heard), **told, **rates}


def _beside(stack: Stack, rate: int, people: int) -> Found:
    """A campaign from its launch to its end, and messages all the while."""
    part = Part(stack)
    calls: list[Calls] = []

    def call() -> None:
        if not calls:  # after launch.measure has emptied the witness
            ours = fresh(rate * LONGEST, people)
            calls.append(Calls(stack, "steadily", messages=ours, rate=rate))

    story = launch.measure(stack, meanwhile=call)
    heard = calls[0].stop()
    ids = ids_of(heard)
    told = part.end(ids, leaving=ids)
    lag = milliseconds(told.pop("lags"))
    return {"campaign": story, **answers(heard), **told, "lag": lag}


def text(found: Found) -> str:
    door, bulk = found["door"], found["bulk"]
    alone = found["campaign"]["per_second"]
    lines = [
        (f"The door at {RATE} calls/s: p50", _ms(door["p50_ms"]), "10 ms or less"),
        ("  p99", _ms(door["p99_ms"]), "50 ms or less"),
        ("  not accepted, lost", _failed(door), "0, 0"),
        ("Bulk: messages/s accepted", f"{bulk['per_second']:,.0f}", "5,000 or more"),
        ("  not accepted, lost", _failed(bulk), "0, 0"),
        ("  messages/s at FCM", f"{bulk['pushed_per_second']:,.0f}", ""),
        *_crowd(f"{found['connections']['calls']:,} connections", found["connections"], ""),
        *_crowd(f"{found['at_once']['calls']:,} at once", found["at_once"], "500 ms or less"),
        *_lane(f"Fast lane, alone at {BESIDE[0]}/s", found["alone"]),
        *_lane(f"Fast lane, alone at {RATE}/s", door),
        ("A campaign alone, messages/s", f"{alone:,.0f}", ""),
    ]
    for rate, least in zip(BESIDE, ("90 % or more", "70 % or more"), strict=True):
        beside = found[f"beside_{rate}"]
        share = beside["campaign"]["per_second"] / alone
        lines += [
            (f"  beside {rate}/s", f"{share:.0%}", least),
            *_lane(f"Fast lane beside it at {rate}/s", beside),
            (f"  the door: p50, p99; {_failed(beside)} failed, lost", _two(beside), ""),
        ]
    parts = [each for each in found.values() if "agrees" in each]
    lines.append(("Calls, rows and witness agree", _all(parts), "yes"))
    head = ("found", "wanted")
    cells = [row(name, (value, wanted), width=22) for name, value, wanted in lines]
    return "\n".join([row("Messages to single people", head, width=22), rule(head), *cells])


def _crowd(name: str, found: Found, p95: str) -> list[tuple[str, str, str]]:
    return [
        (f"{name}: accepted", f"{found['accepted'] / found['calls']:.1%}", "100 %"),
        ("  p95", _ms(found["p95_ms"]), p95),
        ("  not accepted, lost", _failed(found), "0, 0"),
    ]


def _lane(name: str, found: Found) -> list[tuple[str, str, str]]:
    return [
        (f"{name}: 202 to FCM, p50", _ms(found["lag"]["p50_ms"]), "250 ms or less"),
        ("  p99", _ms(found["lag"]["p99_ms"]), "1,000 ms or less"),
    ]


def _failed(found: Found) -> str:
    return f"{found['calls'] - found['accepted']:,}, {found['lost']:,}"


def _two(found: Found) -> str:
    return f"{found['p50_ms']:.1f}, {found['p99_ms']:.1f} ms"


def _ms(value: float) -> str:
    return f"{value:,.1f} ms"


def _all(parts: list[Found]) -> str:
    return "yes" if all(each["agrees"] for each in parts) else "NO"
