"""The table of kinds, by the field that their rules name."""

from __future__ import annotations

from campaigns.audiences.happened import chance, event, most, nested, past
from campaigns.audiences.happened.kind import Kind

KINDS: dict[str, Kind] = {
    event.FIELD: event.KIND,
    past.FIELD: past.KIND,
    nested.FIELD: nested.KIND,
    chance.FIELD: chance.KIND,
    most.FIELD: most.KIND,
}
COSTLY = tuple(name for name, kind in KINDS.items() if kind.costly)
