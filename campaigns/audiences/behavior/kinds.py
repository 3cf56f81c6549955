"""The kinds of rules, by the field that identifies them."""

from __future__ import annotations

from campaigns.audiences.behavior import at_most, chance, event, nested, past
from campaigns.audiences.behavior.kind import Kind

KINDS: dict[str, Kind] = {
    event.FIELD: event.KIND,
    past.FIELD: past.KIND,
    nested.FIELD: nested.KIND,
    chance.FIELD: chance.KIND,
    at_most.FIELD: at_most.KIND,
}
COSTLY = tuple(name for name, kind in KINDS.items() if kind.costly)
