"""Skipped: how many devices would be skipped, and how many sent to.

One statement counts both: a device skipped for two reasons counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import estimating, reach
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.planned_people import people_of
from campaigns.audiences.reach import Alike, Reach
from campaigns.forecast.skips.loss import Loss
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import Wording
from campaigns.runs import prior_recipients
from campaigns.runs.caps import reserved_places
from campaigns.runs.caps.counted_pushes import Coming, enough_by
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN
from campaigns.texts import liquid, preview
from notifications.people.consent import eligibility

MAX_NAMED = 3


@dataclass(frozen=True)
class Cause:
    """Why some of the audience would be skipped. A new reason needs only a new Cause."""

    reason: Reason
    holds: Sql  # on `c`, `d` and `out` (why they are out); true or false, never NULL
    short: str  # “no city”
    words: Callable[[int], str]  # a sentence about so many devices
    applies: Callable[[Alike], Set[int]]  # texts that skip them, by language and platform
    variable: str = ""
    sure: bool = True  # False: it depends on more than the condition checks


@dataclass(frozen=True)
class Skipped:
    """All losses, and how many devices they are together; None: nobody could count them."""

    losses: list[Loss] = field(default_factory=list)
    devices: int | None = 0
    exact: bool = True

    @property
    def overlap(self) -> bool:
        """Whether the reasons add up to more than the devices."""
        return sum(loss.devices or 0 for loss in self.losses) > (self.devices or 0)

    @property
    def why(self) -> str:
        """The reason, such as “no city”; several reasons each with their number."""
        if len(self.losses) == 1:
            return self.losses[0].short
        return ", ".join(
            f"{count_in_words(loss.devices, loss.exact)} {loss.short}" for loss in self.losses
        )


def count_skips(
    campaign: Campaign,
    rules: dict[str, Any],
    found: Reach,
    causes: Sequence[Cause],
    *,
    seconds: float = reach.EXACT_SECONDS,
) -> Skipped:
    texts = campaign_variants.wordings(campaign)
    shares = {
        wording.number: wording.weight / sum(text.weight for text in texts) for wording in texts
    }
    ask = partial(reach.judged, found=found, asks=campaign.asks, seconds=seconds)
    return _count_because([*causes], found, partial(ask, campaign.project_id, rules), shares)


def also(skipped: Skipped, others: list[Loss], found: Reach) -> Skipped:
    """Add the people who get nothing on purpose. They are drawn by chance, so people who would be
    skipped for another reason are among them as often as others."""
    if not others:
        return skipped
    if skipped.devices is None:
        return replace(skipped, losses=[*others, *skipped.losses], exact=False)
    left_out = sum(loss.devices or 0 for loss in others)
    remaining_share = 1 - left_out / found.devices if found.devices else 1
    devices = left_out + round(skipped.devices * remaining_share)
    return Skipped([*others, *skipped.losses], devices, exact=False)


def out(project_id: int, rules: dict[str, Any], found: Reach, asks: Mapping[str, Any]) -> Skipped:
    """Count only people who unsubscribed or are suppressed. This is quick: a person who chooses an
    audience does not wait."""
    quick = partial(reach.judged, found=found, asks=asks, seconds=estimating.SAMPLE_SECONDS)
    everybody = {MAIN: 1.0}
    return _count_because(
        list(_opt_out_causes(everybody)), found, partial(quick, project_id, rules), everybody
    )


def _count_because(
    causes: list[Cause],
    audience: Reach,
    ask: Callable[..., reach.Judged],
    shares: Mapping[int, float],
) -> Skipped:
    """Count the devices skipped for these causes. `shares`: the share of people who get each text.

    Who gets which text is drawn when the run starts. So the count for a value that only some texts
    need is multiplied by their share.
    """
    try:
        judged = ask(conditions=[cause.holds for cause in causes])
    except reach.Uncountable:
        text = _("They could not be counted: that takes too long with these rules.")
        unknown = Loss(Reason.MISSING_VALUE, text, devices=None, of=None, exact=False, short=text)
        return Skipped([unknown], devices=None, exact=False)
    losses = [
        _build_loss(cause, lost, shares, audience, exact=judged.exact and cause.sure)
        for number, cause in enumerate(causes)
        if (lost := _select_lost(judged.groups, [number], causes))
    ]
    devices = _count_devices(_select_lost(judged.groups, range(len(causes)), causes), shares)
    exact = judged.exact and all(loss.exact for loss in losses)
    return Skipped(sorted(losses, key=lambda loss: -(loss.devices or 0)), devices, exact)


Lost = list[tuple[Alike, Set[int]]]  # groups of devices, and the texts that skip them


def _select_lost(groups: list[Alike], numbers: Iterable[int], causes: list[Cause]) -> Lost:
    """Return the groups that any of these causes skips, with the texts."""
    group_texts = [
        (group, set().union(*(causes[n].applies(group) for n in numbers if group.holds[n])))
        for group in groups
    ]
    return [(group, texts) for group, texts in group_texts if texts]


def _count_devices(lost: Lost, shares: Mapping[int, float]) -> int:
    counts = (group.devices * sum(shares[text] for text in texts) for group, texts in lost)
    return round(sum(counts))


def _build_loss(
    cause: Cause, lost: Lost, shares: Mapping[int, float], audience: Reach, *, exact: bool
) -> Loss:
    devices = _count_devices(lost, shares)
    words, drawn = cause.words(devices), any(texts != shares.keys() for _one, texts in lost)
    return Loss(
        cause.reason,
        _("About %(said)s") % {"said": words} if drawn else words,
        devices=devices,
        of=audience.devices,
        exact=exact and not drawn,
        example=lost[0][0].example,
        variable=cause.variable,
        short=cause.short,
    )


def causes_of(texts: list[Wording]) -> list[Cause]:
    contents = {wording.number: wording.template.frozen() for wording in texts}
    needed_by = {n: cache(partial(preview.needed_by, content)) for n, content in contents.items()}
    sure = not any(map(preview.depends, contents.values()))
    needed = chain.from_iterable(map(preview.needed, contents.values()))
    missing = (_missing_value_cause(path, needed_by, sure=sure) for path in dict.fromkeys(needed))
    return [*_opt_out_causes(contents), *missing]


def receives(campaign: Campaign) -> Sql:
    """Return SQL for people who are not out, and have all values that the text needs in any
    language."""
    is_in = wants(campaign.asks)
    lacking = [lacks(path) for path in preview.needed(campaign.template.frozen())]
    params = [param for lack in lacking for param in lack.params]
    lost = " OR ".join(["FALSE", *(lack.sql for lack in lacking)])
    return Sql(f"({is_in.sql} AND NOT ({lost}))", [*is_in.params, *params])


def wants(asks: dict[str, Any]) -> Sql:
    """Return SQL for people who are not out, though a value may be missing. Pages show such people
    as readers."""
    out = (
        f"(SELECT {eligibility.skip_reason_sql('%s', '%s')} FROM (SELECT 1) one {eligibility.JOIN})"
    )
    return Sql(f"({out} = '')", [asks["marketing"], asks["category"]])


def _opt_out_causes(texts: Iterable[int]) -> Iterator[Cause]:
    """Yield a cause for each way to be out. People who are out count only there: whatever values
    they have, and with any text."""
    everything = {*texts}
    for reason in eligibility.REASONS:
        yield Cause(
            Reason(reason),
            Sql("out = %s", [reason]),
            short=_("suppressed") if reason == eligibility.SUPPRESSED else _("unsubscribed"),
            words=partial(_opted_out_words, reason),
            applies=lambda _group: everything,
        )


def of_caps(campaign: Campaign, at: datetime, texts: Iterable[int]) -> Iterator[Cause]:
    """Yield the cause for people who reach the frequency caps by then, with the places that are
    kept for other runs. Nobody knows what else is sent until then."""
    caps = campaign.caps
    if caps is None or not caps.holds:
        return
    coming = reserved_places.higher_runs(campaign.project_id, campaign.precedence, caps, at)
    enough = Sql(*enough_by(caps, at, [_as_coming(run) for run in coming]))
    short = _("had enough messages")
    words = partial(_reserved_places_words, coming) if coming else _had_enough_words
    cause = with_any_text(Reason.CAPPED, enough, short, words, texts)
    # People who wait for their own time, or for the morning, are judged when that comes.
    waits = campaign.local_time or campaign.quiet_hours is not None
    yield replace(cause, sure=not waits)


def _as_coming(run: Run) -> Coming:
    people = people_of(run)
    return Coming(run.pk, run.category_id, run.scheduled_at, people.sql, people.params)


def of_had(campaign: Campaign, begun: Run | None, texts: Iterable[int]) -> Iterator[Cause]:
    """Yield the cause for people who got the campaign before, as far as is known now. The run that
    has just begun does not count. A run leaves these people out when it chooses its people."""
    if holds := who_had_it(campaign, begun):
        yield with_any_text(Reason.HAD_IT, holds, _("had it already"), _had_it_words, texts)


def who_had_it(campaign: Campaign, begun: Run | None = None) -> Sql | None:
    """Return SQL on `c` for people who got the campaign before; None if it may be sent again."""
    if not (campaign.once_each and campaign.pk):
        return None
    received = prior_recipients.received(campaign.pk, except_run=begun.pk if begun else 0)
    sql = " OR ".join(condition for condition, _params in received)
    return Sql(f"({sql})", [param for _one, params in received for param in params])


def _had_it_words(devices: int) -> str:
    text = ngettext(
        "%(count)s device: its person had this campaign in an earlier run.",
        "%(count)s devices: their people had this campaign in an earlier run.",
        devices,
    )
    return text % {"count": f"{devices:,}"}


def with_any_text(
    reason: Reason, holds: Sql, short: str, words: Callable[[int], str], texts: Iterable[int]
) -> Cause:
    """Return a cause that holds with any text, for people who are not out anyway."""
    everything = {*texts}
    only_then = Sql(f"(out = '' AND {holds.sql})", holds.params)
    return Cause(reason, only_then, short, words, applies=lambda _group: everything)


def _had_enough_words(devices: int) -> str:
    text = ngettext(
        "%(count)s device: its person has got as many messages as the caps allow.",
        "%(count)s devices: their people have got as many messages as the caps allow.",
        devices,
    )
    return text % {"count": f"{devices:,}"}


def _reserved_places_words(higher_runs: Sequence[Run], devices: int) -> str:
    text = ngettext(
        "%(count)s device: by the caps its person has had enough, with the place that is kept for "
        "a campaign of higher precedence: %(runs)s.",
        "%(count)s devices: by the caps their people have had enough, with the places that are "
        "kept for campaigns of higher precedence: %(runs)s.",
        devices,
    )
    named = [
        _("%(name)s (run %(run)s)") % {"name": run.campaign, "run": run.pk} for run in higher_runs
    ]
    run_names = ", ".join(named[:MAX_NAMED]) + (" …" if len(named) > MAX_NAMED else "")
    return text % {"count": f"{devices:,}", "runs": run_names}


def _opted_out_words(reason: str, devices: int) -> str:
    text = ngettext(
        "%(count)s device: its person does not want such messages.",
        "%(count)s devices: their people do not want such messages.",
        devices,
    )
    if reason == eligibility.SUPPRESSED:
        text = ngettext(
            "%(count)s device: its person is on the suppression list.",
            "%(count)s devices: their people are on the suppression list.",
            devices,
        )
    return text % {"count": f"{devices:,}"}


def _missing_value_cause(
    path: liquid.Path,
    needed_by: Mapping[int, Callable[[str, str], Set[liquid.Path]]],
    *,
    sure: bool,
) -> Cause:
    name, lack = liquid.written(path), lacks(path)
    return Cause(
        Reason.MISSING_VALUE,
        Sql(f"(out = '' AND {lack.sql})", lack.params),
        short=_("no %(name)s") % {"name": name},
        words=partial(_without_value_words, name),
        applies=lambda group: {
            text for text, needs in needed_by.items() if path in needs(group.locale, group.platform)
        },
        variable=name,
        sure=sure,
    )


def lacks(path: liquid.Path) -> Sql:
    """Return SQL on `c`: whether the value is missing. True or false, never NULL."""
    value = _value_sql(path)
    return Sql(f"COALESCE({value.sql}, '') = ''", value.params)


def _value_sql(path: liquid.Path) -> Sql:
    own = preview.OWN.get(str(path[0]))
    if own or len(path) == 1:
        return Sql(own) if own else Sql("c.attributes ->> %s", [path[0]])
    # Inside another value, an empty value is rendered as it is. Only an absent one is missing.
    return Sql("(c.attributes #> %s::text[])::text", [[str(part) for part in path]])


def _without_value_words(name: str, devices: int) -> str:
    text = ngettext(
        "%(count)s device: its person has no “%(name)s”, and the text they read needs it.",
        "%(count)s devices: their people have no “%(name)s”, and the text they read needs it.",
        devices,
    )
    return text % {"count": f"{devices:,}", "name": name}


def outcome(found: Reach, skipped: Skipped, *, all_reasons: bool = True) -> str:
    """Return “30,404 devices; 5,000 will be skipped: no city; 25,404 will be sent to.” The last
    part needs `all_reasons`: without them, nobody knows yet how many."""
    text = ngettext("%(count)s device", "%(count)s devices", found.devices)
    parts = [text % {"count": count_in_words(found.devices, found.exact)}]
    if skipped.devices is None:
        parts.append(_("how many will be skipped could not be counted"))
    else:
        exact = found.exact and skipped.exact
        if skipped.devices:
            lost = {"count": count_in_words(skipped.devices, skipped.exact), "why": skipped.why}
            parts.append(_("%(count)s will be skipped: %(why)s") % lost)
        if all_reasons:
            sending = count_in_words(max(0, found.devices - skipped.devices), exact)
            parts.append(_("%(count)s will be sent to") % {"count": sending})
    return f"{'; '.join(parts)}."


def count_in_words(number: int | None, exact: bool) -> str:
    if number is None:
        return "–"
    return f"{number:,}" if exact else _("about %(number)s") % {"number": f"{number:,}"}
