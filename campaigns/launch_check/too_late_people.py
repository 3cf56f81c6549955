"""People who come too late: by their time zone and best hour, the message expires before their
turn.
"""

from __future__ import annotations

from campaigns.audiences.behavior.kind import Sql
from campaigns.forecast.course import Late
from campaigns.runs import best_hour
from campaigns.runs.local_time import LocalTime


def people(late: Late, by: LocalTime | None) -> Sql:
    """Return SQL that selects the contacts `c` of these kinds."""
    kinds = [*late.everybody, *late.some]
    if by is None or not by.best_hour:
        return Sql("c.timezone = ANY(%s::text[])", [[kind.zone for kind in kinds]])
    clocks = [f"{kind.zone} {'' if kind.best_hour is None else kind.best_hour}" for kind in kinds]
    return Sql(f"concat(c.timezone, ' ', {best_hour.hour_of('c.id')}) = ANY(%s::text[])", [clocks])
