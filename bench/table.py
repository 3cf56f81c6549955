"""The figures as text: one table of what a message costs, one of a launch and of the pages."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, float]
# In the order of the table. The emulator's own rows are about what it costs to serve.
SENDERS = {
    "bare": "Bare aiohttp loop",
    "carillon": "Carillon's workers, rows and all",
    "sdk_threads": "firebase-admin send_each",
    "sdk_async_http2": "firebase-admin send_each_async, HTTP/2",
    "sdk_async_http1": "firebase-admin send_each_async, HTTP/1.1",
}
EMULATORS = {
    "emulator_1": "Emulator, one process, two bare loops",
    "emulator_2": "Emulator, --processes 2, two bare loops",
}


def table(results: dict[str, Any]) -> str:
    senders: dict[str, Numbers] = results["senders"]
    launched = _launch(senders["carillon"], results["pages"])
    return "\n".join([*_costs(senders), *_refusals(senders), "", *launched])


def _costs(senders: dict[str, Numbers]) -> list[str]:
    rows = [("CPU of an accepted message", "messages/s", "CPU µs", "ratio", "emulator µs")]
    for key, name in (SENDERS | EMULATORS).items():
        numbers = senders[key]
        own, served = numbers["cpu_us"], numbers["emulator_cpu_us"]
        costs = (f"{own:.0f}", f"{served:.0f}") if key in SENDERS else (f"{served:.0f}", "")
        rate, ratio = f"{numbers['per_second']:,.0f}", f"{numbers['ratio']:.1f}"
        rows.append((name, rate, costs[0], ratio, costs[1]))
    return [f"{name:<46}{a:>12}{b:>9}{c:>8}{d:>14}" for name, a, b, c, d in rows]


def _refusals(senders: dict[str, Numbers]) -> list[str]:
    """Only made-up live phones are written to, but for those of Carillon's demo."""
    return [
        f"{name}: {senders[key]['refused']:.0f} messages were not accepted"
        for key, name in SENDERS.items()
        if key != "carillon" and senders[key]["refused"]
    ]


def _launch(launched: Numbers, pages: Numbers) -> list[str]:
    rows = [
        ("Launch to finished", f"{launched['seconds']:.1f} s", "under 20 s"),
        ("Recipients", f"{launched['planned']:,.0f}", ""),
        ("Launch to first request", f"{launched['first_request_seconds']:.2f} s", "under 2 s"),
        (
            "CPU of a message with PostgreSQL and Valkey",
            f"{launched['product_cpu_us']:.0f} µs",
            "budget 200 µs",
        ),
        ("Largest worker process", f"{launched['largest_worker_mb']:.0f} MB", "under 250 MB"),
        ("Witness agrees with the totals", "yes" if launched["witness_agrees"] else "NO", "yes"),
    ]
    rows += [
        (f"Page {name}, 1,000,000 people", f"{seconds * 1000:.0f} ms", "under 500 ms")
        for name, seconds in pages.items()
    ]
    return [f"{name:<46} {value:>18}   {aim}" for name, value, aim in rows]
