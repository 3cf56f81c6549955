"""Correction: a draft that replaces the wrong text of a run for the people who got it.

FCM cannot recall a message. A correction carries the tag of the run that it corrects, so a phone
replaces the notification that it still shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, Max, OuterRef
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.past import FIELD, IN_INBOX
from campaigns.audiences.bounds import MAX_COSTLY, leaves
from campaigns.audiences.lists import filling, outcomes
from campaigns.audiences.lists.run_lists import is_known
from campaigns.audiences.rules import MAX_VALUES, everyone
from campaigns.planning.campaign import Campaign
from campaigns.runs.revisions.revision import FIRST, content_of, history
from campaigns.runs.run import Run
from campaigns.runs.variants.group import REST, name_of
from campaigns.runs.variants.variant import as_launched, read_by
from campaigns.texts import revision
from campaigns.texts.content import TEXTS, Content, text_for
from campaigns.texts.template import Template
from notifications.postgres.budget import TooSlow, statement_timeout

LOOKING_SECONDS = 2.0
EVERY = "every"  # all texts; the main one has an empty tag
MAIN = "main"

Tree = dict[str, Any]
Sent = tuple[int, int]  # variant and revision: one text that was sent
Languages = tuple[str, tuple[str, ...]]  # an operator and locales: a condition on people's locale
ANY: Languages = ("not_in", ())


class NotCorrectable(Exception):
    """The run cannot be corrected, or not yet; the message says what to do."""


def problem(run: Run) -> str:
    """Return why the run cannot be corrected now, or an empty string."""
    if run.finished_at is None:
        text = _(
            "Run %(number)d has not ended. Change its text for those who still wait; once it has "
            "ended, or is cancelled, correct it for those who got it."
        )
    elif run.forgotten_at is not None:
        text = _("The recipients of run %(number)d were removed: nobody knows who got it.")
    elif not is_known(run) or not (run.accepted + run.unknown or _is_in_inboxes(run)):
        text = _("Nobody got run %(number)d: there is nothing to correct.")
    else:
        return ""
    return text % {"number": run.pk}


def _is_in_inboxes(run: Run) -> bool:
    counts = (outcomes.count(pk, outcomes.IN_INBOX) for pk in _runs_in_inboxes(run))
    return any(counted is None or counted[0] > 0 for counted in counts)


def _runs_in_inboxes(run: Run) -> list[int]:
    """The run, and the corrections of it so far: a person may have the text of one of them in the
    inbox alone."""
    return [run.pk, *run.all_corrections()] if run.inbox else []


def corrections_of(run: Run) -> list[Campaign]:
    """Return the campaigns that correct this run. `launched`: whether one is sent, or was."""
    launched = Exists(Run.objects.filter(campaign=OuterRef("pk")))
    return list(Campaign.objects.filter(corrects=run).annotate(launched=launched).order_by("pk"))


def draft(
    run: Run,
    *,
    text: str,
    revisions: Sequence[int] = (),
    variant: int | None = None,
    outdated: bool = False,
    by: str,
) -> Campaign:
    """Create a draft for the people that this choice selects. It has the newest text of the first
    variant among them. The sweep fills its list. Raises NotCorrectable.

    If the process dies here: all three rows exist, or none does.
    """
    people = choose_people(run, text=text, revisions=revisions, variant=variant, outdated=outdated)
    with transaction.atomic():
        name = _("Got run %(number)d") % {"number": run.pk}
        audience = filling.begin(run.project_id, name, people.rules, run=run)
        number = len(corrections_of(run)) + 1
        named = _("%(name)s (correction)")
        if number > 1:
            named = "%(name)s " + _("(correction %(number)d)") % {"number": number}
        campaign: Campaign = run.campaign.duplicate_for(audience, named=named, corrects=run)
        campaign.template = _as_sent(run, people.variant, named=campaign.name, by=by)
        campaign.save()
    return campaign


@dataclass(frozen=True)
class Chosen:
    """The recipients of a wrong text."""

    rules: Tree
    variant: int  # the first among those that they read


def choose_people(
    run: Run,
    *,
    text: str,
    revisions: Sequence[int] = (),
    variant: int | None = None,
    outdated: bool = False,
) -> Chosen:
    """Choose the recipients of this text.

    `revisions`: only recipients of these. `variant`: only its readers. `outdated`: only people
    whose variant was changed after they got it. Raises NotCorrectable.
    """
    if why := problem(run):
        raise NotCorrectable(why)
    sent_texts = _outdated_texts(run, variant) if outdated else _sent_texts(run, revisions, variant)
    languages = _map_languages(run, text, sent_texts)
    if not languages:
        message = _("Nobody got a text “%(text)s” of this variant and revision. Choose another.")
        raise NotCorrectable(message % {"text": text})
    rules = _build_rules(run, languages)
    if sum(leaf["field"] == FIELD for leaf in leaves(rules)) > MAX_COSTLY:
        raise NotCorrectable(_("Its text was changed too often. Choose one revision."))
    return Chosen(rules, variant=min(number for number, _revision in languages))


# --- Which texts were sent ------------------------------------------------------------------------


def texts_of(run: Run, revisions: Sequence[int] = (), variant: int | None = None) -> list[str]:
    """List the texts that recipients got, of these revisions and this variant: MAIN or a language.
    Empty if that takes too long."""
    readings, sent_texts = _map_readers(run), _sent_texts(run, revisions, variant)
    return [*dict.fromkeys(text for sent_text in sent_texts for text in readings[sent_text])]


def _sent_texts(run: Run, revisions: Sequence[int], variant: int | None) -> list[Sent]:
    chosen = as_launched(run) if variant is None else [variant]
    return [*product(chosen, revisions or range(FIRST, run.revision + 1))]


def _outdated_texts(run: Run, variant: int | None) -> list[Sent]:
    """Return the texts that were changed after they left. Raises NotCorrectable if none was."""
    newest = dict(run.revisions.order_by().values_list("variant").annotate(Max("number")))
    changed = newest.keys() if variant is None else newest.keys() & {variant}
    if not changed:
        raise NotCorrectable(_("Everyone who got it has the newest text."))
    return [
        (changed_variant, number)
        for changed_variant in sorted(changed)
        for number in range(FIRST, newest[changed_variant])
    ]


def _map_readers(run: Run) -> dict[Sent, dict[str, list[str]]]:
    """Map each sent text to its languages, and each language to the locales that read it."""
    texts_by_revision, readings = history(run), dict[Sent, dict[str, list[str]]]()
    translated = any(
        content["locales"] for texts in texts_by_revision.values() for content in texts.values()
    )
    locales = _find_locales(run) if translated else []
    for number, texts in texts_by_revision.items():
        for variant, content in texts.items():
            same = number > FIRST and content is texts_by_revision[number - 1][variant]
            readings[variant, number] = (
                readings[variant, number - 1] if same else _locales_by_text(content, locales)
            )
    return readings


def _locales_by_text(content: Content, locales: list[str]) -> dict[str, list[str]]:
    if not content["locales"]:
        return {MAIN: locales}
    locales_by_text: dict[str, list[str]] = {}
    for locale in locales:
        locales_by_text.setdefault(text_for(content, locale) or MAIN, []).append(locale)
    return locales_by_text


# --- Who read one of them -------------------------------------------------------------------------


def _map_languages(run: Run, text: str, sent_texts: list[Sent]) -> dict[Sent, Languages]:
    """Map each sent text to a condition on the locale of those who read `text` in it."""
    if text == EVERY:
        return dict.fromkeys(sent_texts, ANY)
    readings = _map_readers(run)
    matching = {
        sent_text: readings[sent_text] for sent_text in sent_texts if text in readings[sent_text]
    }
    if text != MAIN:
        return {
            sent_text: ("in", tuple(locales_by_text[text]))
            for sent_text, locales_by_text in matching.items()
        }
    return {
        sent_text: (
            "not_in",
            tuple(
                locale for tag in locales_by_text if tag != MAIN for locale in locales_by_text[tag]
            ),
        )
        for sent_text, locales_by_text in matching.items()
    }


def _build_rules(run: Run, languages: dict[Sent, Languages]) -> Tree:
    """Build rules for people who got one of these texts, or may have, and whose language fits now.

    The rules stay few: a person has one variant on all devices, so variants with the same
    revisions share one rule per outcome.
    """
    all_revisions = frozenset(range(FIRST, run.revision + 1))
    revisions: dict[tuple[int, Languages], set[int]] = defaultdict(set)
    for (variant, number), spoken in languages.items():
        revisions[variant, spoken].add(number)
    groups: dict[frozenset[int], dict[Languages, list[int]]] = defaultdict(dict)
    for (variant, spoken), numbers in revisions.items():
        groups[frozenset(numbers)].setdefault(spoken, []).append(variant)
    return _any_of(
        _all_of(
            _got_rule(run, [] if numbers == all_revisions else sorted(numbers)),
            _any_of(
                _all_of(_language_rule(spoken), _variant_rule(run, variants))
                for spoken, variants in variants_by_language.items()
            ),
        )
        for numbers, variants_by_language in groups.items()
    )


def _got_rule(run: Run, revisions: list[int]) -> Tree:
    """Build a rule for people who got one of these revisions; no revisions: any, or a correction
    of it in the inbox."""
    texts = [{"revision": number} for number in revisions] or [{}]
    statuses = ("accepted", "unknown", *([IN_INBOX] if run.inbox else []))
    ways = product(statuses, texts)
    got = [outcomes.of_run(run, status, **text) for status, text in ways]
    if not revisions:
        corrections = Run.objects.filter(pk__in=_runs_in_inboxes(run)[1:])
        got += [outcomes.of_run(correction, IN_INBOX) for correction in corrections]
    return {"any": got}


def _variant_rule(run: Run, variants: list[int]) -> Tree:
    """Build a rule for recipients of one of these variants, including the rest of a trial."""
    all_variants = as_launched(run)
    if len(variants) == len(all_variants):
        return everyone()
    groups = [variant for variant in (*all_variants, REST) if read_by(run, variant) in variants]
    return _any_of(outcomes.of_run(run, "planned", variant=name_of(variant)) for variant in groups)


def _language_rule(spoken: Languages) -> Tree:
    op, locales = spoken
    return {"field": "locale", "op": op, "value": [*locales]} if locales else everyone()


def _any_of(trees: Iterable[Tree]) -> Tree:
    alternatives = [*trees]
    return alternatives[0] if len(alternatives) == 1 else {"any": alternatives}


def _all_of(*trees: Tree) -> Tree:
    conditions = [tree for tree in trees if tree != everyone()]
    return conditions[0] if len(conditions) == 1 else {"all": conditions}


def _find_locales(run: Run) -> list[str]:
    try:
        with statement_timeout(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT locale FROM campaigns_recipient WHERE run_id = %s"
                " AND locale IS NOT NULL ORDER BY 1 LIMIT %s",
                [run.pk, MAX_VALUES + 1],
            )
            locales = [row[0] for row in cursor.fetchall()]
            return locales if len(locales) <= MAX_VALUES else []
    except TooSlow:
        return []


def _as_sent(run: Run, variant: int, *, named: str, by: str) -> Template:
    """Create a template with the run's last text: its own template may have changed since."""
    newest = content_of(run, variant=variant)
    content = {name: newest[name] for name in (*TEXTS, "data", "locales")}
    template = Template.objects.create(
        project_id=run.project_id,
        name=_free_name(run.project_id, named),
        options=newest.get("options", {}),
        buttons=newest.get("buttons", []),
        **content,
    )
    revision.keep(template, by=by)
    return template


def _free_name(project_id: int, base: str) -> str:
    used_names = {*Template.objects.filter(project=project_id).values_list("name", flat=True)}
    numbered = (base[:100], *(f"{base[:94]} {n}" for n in range(2, len(used_names) + 3)))
    return next(name for name in numbered if name not in used_names)
