"""The figures as Markdown: what a message costs each sender, and what a launch was like."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, float]
# In the order of the table.
SENDERS = {
    "raw": "(b) raw asyncio + httptools",
    "bare": "(a) bare aiohttp, bodies prebuilt",
    "rust_http1": "(h) pyreqwest, HTTP/1.1",
    "rust_http2": "(h) pyreqwest, HTTP/2",
    "carillon": "(f) Carillon on wire, Launch to finished",
    "carillon_aiohttp": "(f) Carillon on aiohttp, the same",
    "gathered": "(e) gather in batches, no ledger",
    "h2": "(g) httpx, HTTP/2",
    "async_firebase_http1": "(d) async-firebase, HTTP/1.1",
    "async_firebase_http2": "(d) async-firebase, HTTP/2",
    "sdk_threads": "(c) firebase-admin send_each",
    "sdk_async_http2": "(c) firebase-admin send_each_async, HTTP/2",
    "sdk_async_http1": "(c) firebase-admin send_each_async, HTTP/1.1",
}
COLUMNS = (
    "messages/s", "of (a)", "workers µs", "PostgreSQL", "Valkey", "others", "sum µs", "emulator",
    "peak MB",
)  # fmt: skip
OFFICIAL = ("sdk_threads", "sdk_async_http2", "sdk_async_http1")
ASYNC_FIREBASE = ("async_firebase_http1", "async_firebase_http2")


def table(results: dict[str, Any]) -> str:
    senders: dict[str, Numbers] = results["senders"]
    rows = [*_costs(senders), *_refusals(senders), ""]
    return "\n".join([*rows, *_launch(senders)])


def _costs(senders: dict[str, Numbers]) -> list[str]:
    lines = [row("CPU of an accepted message", COLUMNS), rule(COLUMNS)]
    for key, name in SENDERS.items():
        if numbers := senders.get(key):
            lines.append(row(name, _cells(numbers)))
    return lines


def _cells(numbers: Numbers) -> tuple[str, ...]:
    groups = ("postgresql_us", "valkey_us", "other_us")
    return (
        f"{numbers['per_second']:,.0f}",
        f"{numbers['share']:.2f}",
        f"{numbers['cpu_us']:.0f}",
        *(f"{numbers[group]:.0f}" if group in numbers else "" for group in groups),
        f"{numbers.get('product_cpu_us', numbers['cpu_us']):.0f}",
        f"{numbers['emulator_cpu_us']:.0f}",
        f"{numbers['peak_mb']:.0f}",
    )


def row(name: str, cells: tuple[str, ...], width: int = 11) -> str:
    return " | ".join([f"| {name:<46}", *(f"{cell:>{width}}" for cell in cells)]) + " |"


def rule(cells: tuple[str, ...]) -> str:
    return "| --- " + "| ---: " * len(cells) + "|"


def _refusals(senders: dict[str, Numbers]) -> list[str]:
    """Only made-up live phones are written to."""
    return [
        f"{name}: {senders[key]['refused']:.0f} messages were not accepted"
        for key, name in SENDERS.items()
        if senders.get(key, {}).get("refused")
    ]


def _launch(senders: dict[str, Numbers]) -> list[str]:
    launched, bare = senders["carillon"], senders["bare"]
    planned, seconds = launched["planned"], launched["seconds"]
    overall = launched["overall_per_second"]
    rows = [
        (f"Launch to finished, {planned:,.0f}", f"{seconds:.1f} s = {overall:,.0f}/s", ""),
        ("  of (a), start and end included", f"{overall / bare['per_second']:.2f}", ""),
        ("  of (a), steady", f"{launched['share']:.2f}", "0.9 or more"),
        ("Launch to first request", f"{launched['first_request_seconds']:.2f} s", "under 2 s"),
        ("CPU of a message without the emulator", f"{launched['product_cpu_us']:.0f} µs", "160 µs"),
        ("Times the best firebase-admin", _times(senders, OFFICIAL), "9 or more"),
        ("Times the best async-firebase", _times(senders, ASYNC_FIREBASE), "3 or more"),
        ("Largest worker process", f"{launched['peak_mb']:.0f} MB", "under 150 MB"),
        ("Witness agrees with the totals", "yes" if _agrees(senders) else "NO", "yes"),
    ]
    head = ("found", "wanted")
    cells = [row(name, (value, aim), width=22) for name, value, aim in rows]
    return [row("Carillon on wire", head, width=22), rule(head), *cells]


def _agrees(senders: dict[str, Numbers]) -> bool:
    """Over every transport."""
    return all(numbers.get("witness_agrees", True) for numbers in senders.values())


def _times(senders: dict[str, Numbers], names: tuple[str, ...]) -> str:
    rates = [senders[name]["per_second"] for name in names if name in senders]
    return f"{senders['carillon']['per_second'] / max(rates):.1f}" if rates else "–"
