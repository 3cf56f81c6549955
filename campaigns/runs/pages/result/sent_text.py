"""Sent text on a phone: a run's text as a real recipient read it, once for each language."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import connection
from liquid.exceptions import LiquidError

from campaigns.audiences.selection import sample
from campaigns.engine import broken_runs
from campaigns.forecast.skips import skipped
from campaigns.results.reason_steps import detail_in_words
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.revisions.revision import FIRST, texts_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import in_words
from campaigns.runs.variants.variant import has_variants, read_by
from campaigns.texts import preview
from campaigns.texts.content import in_language
from campaigns.texts.preview import Card
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout

LOOKING_SECONDS = 0.2
LOOKED_AT = 5_000  # recipients checked, the first ones: a language not among them is not shown
MOST = 6
# A few recipients for each locale, and each revision or variant of the text, accepted ones first.
# A few, as one of them may have been erased since.
READERS = """
SELECT * FROM (
    SELECT x.*, row_number() OVER (
        PARTITION BY locale, revision, variant ORDER BY status <> 'accepted', seq
    ) AS place FROM (
        SELECT r.locale, r.contact_id, r.platform,
            COALESCE(d.status, '') AS status, r.seq, COALESCE(d.revision, %(newest)s) AS revision,
            COALESCE(r.variant, 0) AS variant
        FROM campaigns_recipient r
        LEFT JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq AND d.seq <= %(most)s
        WHERE r.run_id = %(run)s AND r.seq <= %(most)s AND COALESCE(r.variant, 0) >= 0
    ) x
) y WHERE place <= %(each)s
"""
A_FEW = 3


@dataclass(frozen=True)
class Reading:
    """One language of the text, as somebody read it; without a status, as they would read it."""

    card: Card
    status: str = ""
    revision: int = 0  # if the run's text was changed under way
    variant: str = ""  # in words, if the run has several

    @property
    def accepted(self) -> bool:
        return self.status == Delivery.Status.ACCEPTED

    @property
    def refusal(self) -> str:
        """Why there is nothing to show, in words."""
        detail = detail_in_words(Reason.MISSING_VALUE, self.card.detail)
        return f"{self.card.refusal}: {detail}" if detail else self.card.refusal


def snippets(run: Run) -> list[tuple[str, int]]:
    """The snippets in the run's texts, each with the revision frozen with the text."""
    snippets_by_text = [text.get("snippets", {}) for text in texts_of(run).values()]
    pairs = {
        (name, frozen_snippet["revision"])
        for frozen in snippets_by_text
        for name, frozen_snippet in frozen.items()
    }
    return sorted(pairs)


def readings(run: Run) -> list[Reading]:
    """Readings of accepted recipients first. Empty if the text can no longer be rendered."""
    if broken_runs.find_text_problem(run):
        return []
    try:
        known = _recipient_readings(run)
        if not any(reading.revision in (0, run.revision) for reading in known):
            known += _examples(run)  # none of the first recipients has got the newest texts yet
    except LiquidError:
        return []
    return sorted(
        known,
        key=lambda reading: (
            -reading.revision,
            not reading.accepted,
            not reading.card.message,
            reading.variant,
        ),
    )


def _recipient_readings(run: Run) -> list[Reading]:
    splits = has_variants(run)
    rows = _readers(run)
    texts_by_revision = {
        number: texts_of(run, number) for number in {row["revision"] for row in rows}
    }
    for row in rows:
        row["content"] = texts_by_revision[row["revision"]][read_by(run, row["variant"])]
    people = Contact.objects.in_bulk([row["contact_id"] for row in rows])
    existing = [row for row in rows if row["contact_id"] in people]
    return [
        Reading(
            preview.card(
                row["content"],
                people[row["contact_id"]],
                locale=row["locale"],
                platform=row["platform"],
            ),
            row["status"],
            revision=row["revision"] if run.revision > FIRST else 0,
            variant=in_words(row["variant"]) if splits else "",
        )
        for row in _drop_repeated_texts(existing)
    ]


def _examples(run: Run) -> list[Reading]:
    """Before recipients are chosen: a reading by a person who would get it. If the recipients were
    removed, or the search takes too long: a reading by any person."""
    person = _find_future_recipient(run) if run.planned is None else None
    person = person or preview.pick_person(run.project)
    if person is None:
        return []
    revision, splits = run.revision if run.revision > FIRST else 0, has_variants(run)
    return [
        Reading(
            preview.card(content, person),
            revision=revision,
            variant=in_words(number) if splits else "",
        )
        for number, content in texts_of(run).items()
    ]


def _find_future_recipient(run: Run) -> Contact | None:
    only = skipped.wants(run.campaign.asks)
    with suppress(TooSlow, ValidationError), statement_timeout(seconds=LOOKING_SECONDS):
        return next(iter(sample(run.project_id, run.rules, size=1, only=only)), None)
    return None


def _readers(run: Run) -> list[dict[str, Any]]:
    if run.planned is None or run.forgotten_at:
        return []
    with connection.cursor() as cursor:
        params = {"run": run.pk, "most": LOOKED_AT, "each": A_FEW, "newest": run.revision}
        cursor.execute(READERS, params)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _drop_repeated_texts(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two locales with the same text, such as de-AT and de, are shown once; the newest text and
    accepted recipients come first."""
    row_by_text: dict[bytes, dict[str, Any]] = {}
    for row in sorted(
        rows,
        key=lambda row: (-row["revision"], row["status"] != Delivery.Status.ACCEPTED, row["seq"]),
    ):
        read = in_language(row["content"], row["locale"])
        row_by_text.setdefault(orjson.dumps([row["variant"], read]), row)
    return list(row_by_text.values())[:MOST]
