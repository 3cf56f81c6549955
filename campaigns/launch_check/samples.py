"""Samples: what some people of the audience would read, as it looks on their phones."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.selection import sample
from campaigns.planning.campaign import Campaign
from campaigns.texts import preview
from campaigns.texts.rendering import Reader
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout

MOST = 3
AMONG = 12  # people looked at for three who differ
SECONDS = 2.0


def cards(campaign: Campaign, only: Sql | None = None) -> list[preview.Card]:
    """Return cards for some people of the audience, or only for people that `only` selects. Empty
    if finding them takes too long."""
    people: list[Contact] = []
    with suppress(TooSlow), statement_timeout(seconds=SECONDS):
        rules = campaign.audience.effective_rules
        people = sample(campaign.project_id, rules, size=AMONG, only=only)
    content = campaign.template.frozen()
    return [
        preview.card(content, person, platform=device.platform)
        for person in _choose_different([person for person in people if person.devices.all()])
        for device in list(person.devices.all())[:1]
    ]


def longest(campaign: Campaign, readers: Iterable[Reader]) -> preview.Card | None:
    """Return the card of the reader with the largest message, as FCM counts it."""
    content = campaign.template.frozen()
    cards_of_readers = (
        preview.card(content, _as_contact(reader), platform=reader.platform) for reader in readers
    )
    sendable = (card for card in cards_of_readers if card.message)
    return max(sendable, key=lambda card: card.bytes_used, default=None)


def _choose_different(people: list[Contact]) -> list[Contact]:
    """Choose people with different languages first: three equal samples show no more than one."""
    first_of = {person.locale: person for person in reversed(people)}
    chosen = list(first_of.values())[:MOST]
    remaining = [person for person in people if person not in chosen]
    return [*chosen, *remaining][:MOST]


def _as_contact(reader: Reader) -> Contact:
    return Contact(
        external_id=reader.external_id,
        attributes=reader.attributes,
        locale=reader.locale,
        timezone=reader.timezone,
    )
