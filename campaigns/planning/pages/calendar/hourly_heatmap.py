"""Heat line: each hour's share of the quota on a day, as cells and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from campaigns.figures.hours import Hour
from notifications.values.moments import CLOCK, local
from notifications.values.shares import share

LEVELS = (0.1, 0.3, 0.6, 0.9)  # shares from which a cell is drawn higher, and darker


@dataclass(frozen=True)
class Cell:
    hour: Hour
    clock: str
    level: int  # 0: nothing; 5: nine tenths of what the quota allows, or more

    @property
    def share(self) -> str:
        return share(self.hour.used, self.hour.allows)

    @property
    def in_words(self) -> str:
        values = {"clock": self.clock, "share": self.share, "count": f"{self.hour.used:,}"}
        return _("%(clock)s: %(share)s %% of the quota, %(count)s messages") % values


@dataclass(frozen=True)
class Heat:
    cells: list[Cell]

    @property
    def sent(self) -> int:
        return sum(cell.hour.sent for cell in self.cells)

    @property
    def planned(self) -> int:
        return sum(cell.hour.planned for cell in self.cells)

    @property
    def any(self) -> bool:
        return bool(self.sent or self.planned)

    @property
    def busiest(self) -> Cell:
        return max(self.cells, key=lambda cell: cell.hour.used)

    @property
    def in_words(self) -> str:
        """The line in words."""
        if not self.any:
            return _("Nothing was sent, and nothing is planned.")
        most = self.busiest
        text = _("%(count)s messages, most from %(clock)s on: %(share)s %% of the quota")
        count = f"{self.sent + self.planned:,}"
        return text % {"count": count, "clock": most.clock, "share": most.share}


def heat(hours: Sequence[Hour], zone: str) -> Heat:
    return Heat([Cell(hour, local(hour.begins, zone, CLOCK), _level(hour)) for hour in hours])


def _level(hour: Hour) -> int:
    if not hour.used:
        return 0
    return 1 + sum(hour.share >= least for least in LEVELS)


def levels() -> list[tuple[int, str]]:
    """The legend: what each level means."""
    percents = [0, *(round(100 * least) for least in LEVELS)]
    ends = [*percents[1:], None]
    below, above = _("under %(percent)s %%"), _("%(percent)s %% or more")
    return [
        (level, below % {"percent": end} if end else above % {"percent": percents[level - 1]})
        for level, end in enumerate(ends, start=1)
    ]
