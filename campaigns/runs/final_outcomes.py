"""Endings: reports final outcomes of recipients to listeners, such as webhooks.

Listeners run in the transaction that writes the rows, wherever a row becomes final.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from campaigns.runs.run import Run
from notifications.values.registry import Registry


class Ended(Protocol):
    """A recipient whose outcome is being written."""

    @property
    def message(self) -> int | None: ...  # its number, in a run of messages
    @property
    def external_id(self) -> str | None: ...
    @property
    def address(self) -> str | None: ...
    @property
    def platform(self) -> str | None: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message_id(self) -> str: ...
    @property
    def resent(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """An outcome that SQL alone writes, with the person and device as they are now.

    Also the outcome of a message to a person without a device, which has no delivery row.
    """

    message: int | None
    external_id: str | None
    status: str
    reason: str
    address: str | None = None
    platform: str | None = None
    resent: bool = False
    message_id: str = ""


NO_DEVICE = "no_device"  # the reason of a message to a person without a device

# Called inside the transaction that writes these outcomes.
on_outcomes = Registry[Callable[[Run, Sequence[Ended], datetime], object]]()


def tell(run: Run, ended: Sequence[Ended], at: datetime) -> None:
    for listener in on_outcomes:
        listener(run, ended, at)
