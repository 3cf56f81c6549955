"""Months in UTC, by which the table of events is partitioned. Arithmetic without a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, order=True)
class Month:
    year: int
    number: int  # 1 to 12

    @classmethod
    def of_moment(cls, moment: datetime) -> Month:
        in_utc = moment.astimezone(UTC)
        return cls(in_utc.year, in_utc.month)

    @property
    def following(self) -> Month:
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def begins(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends(self) -> datetime:
        """The first moment after the month."""
        return self.following.begins

    def __str__(self) -> str:
        return f"{self.year:04}_{self.number:02}"


def from_text(text: str) -> Month:
    year, _, number = text.partition("_")
    return Month(int(year), int(number))


def of_all(moments: Iterable[datetime]) -> list[Month]:
    return sorted({Month.of_moment(moment) for moment in moments})


def through(first: Month, last: Month) -> Iterator[Month]:
    while first <= last:
        yield first
        first = first.following


def wholly_before(months: Iterable[Month], moment: datetime) -> list[Month]:
    """The months that end before this moment."""
    return sorted(month for month in months if month.ends <= moment)
