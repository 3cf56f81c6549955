"""How many would be skipped, and how many will be sent to: counted in one statement, so that a
device lost for two reasons is one device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import estimating, reach
from campaigns.audiences.happened.kind import Sql
from campaigns.audiences.reach import Alike, Reach
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.losses import Loss
from campaigns.runs.reasons import Reason
from campaigns.texts import liquid, preview
from notifications.people.consent import standing


@dataclass(frozen=True)
class Cause:
    """Why some of the audience would be skipped. One more reason is one more of these."""

    reason: Reason
    holds: Sql  # of `c`, `d` and `out`, why they are out; true or false, never NULL
    short: str  # “no city”
    words: Callable[[int], str]  # a sentence about so many devices
    applies: Callable[[Alike], bool]  # to this language and platform
    variable: str = ""
    sure: bool = True  # False: it depends on more of the person than the condition asks


@dataclass(frozen=True)
class Skipped:
    """Each loss, and together how many devices that is; None: nobody could count them."""

    losses: list[Loss] = field(default_factory=list)
    devices: int | None = 0
    exact: bool = True

    @property
    def overlap(self) -> bool:
        """Whether the reasons add up to more than the devices."""
        return sum(one.devices or 0 for one in self.losses) > (self.devices or 0)

    @property
    def why(self) -> str:
        """“no city”; of several reasons, each with its number."""
        if len(self.losses) == 1:
            return self.losses[0].short
        return ", ".join(f"{counted(one.devices, one.exact)} {one.short}" for one in self.losses)


def foretold(campaign: Campaign, rules: dict[str, Any], found: Reach) -> Skipped:
    causes = causes_of(campaign)
    ask = partial(reach.judged, campaign.project_id, rules, found=found, asks=campaign.asks)
    return _because(causes, found, ask)


def also(skipped: Skipped, others: list[Loss], found: Reach) -> Skipped:
    """Those as well who get nothing on purpose. They are drawn by chance: who would be skipped for
    another reason is among them as often as anybody."""
    if not others:
        return skipped
    if skipped.devices is None:
        return replace(skipped, losses=[*others, *skipped.losses], exact=False)
    left_out = sum(one.devices or 0 for one in others)
    rest = 1 - left_out / found.devices if found.devices else 1
    devices = left_out + round(skipped.devices * rest)
    return Skipped([*others, *skipped.losses], devices, exact=False)


def out(project_id: int, rules: dict[str, Any], found: Reach, asks: Mapping[str, Any]) -> Skipped:
    """Only who has unsubscribed or is suppressed: while somebody chooses whom it is for, nobody
    waits."""
    quick = partial(reach.judged, found=found, asks=asks, seconds=estimating.SAMPLE_SECONDS)
    return _because(list(_out()), found, partial(quick, project_id, rules))


def _because(causes: list[Cause], found: Reach, ask: Callable[..., reach.Judged]) -> Skipped:
    try:
        judged = ask(conditions=[one.holds for one in causes])
    except reach.Uncountable:
        said = _("They could not be counted: that takes too long with these rules.")
        unknown = Loss(Reason.MISSING_VALUE, said, devices=None, of=None, exact=False, short=said)
        return Skipped([unknown], devices=None, exact=False)
    losses = [
        _loss(cause, groups, found, exact=judged.exact and cause.sure)
        for number, cause in enumerate(causes)
        if (groups := [one for one in judged.groups if one.holds[number] and cause.applies(one)])
    ]
    lost = sum(one.devices for one in judged.groups if _is_lost(one, causes))
    exact = judged.exact and all(one.exact for one in losses)
    return Skipped(sorted(losses, key=lambda one: -(one.devices or 0)), lost, exact)


def _is_lost(group: Alike, causes: list[Cause]) -> bool:
    return any(
        holds and cause.applies(group) for holds, cause in zip(group.holds, causes, strict=True)
    )


def _loss(cause: Cause, groups: list[Alike], found: Reach, *, exact: bool) -> Loss:
    devices = sum(one.devices for one in groups)
    return Loss(
        cause.reason,
        cause.words(devices),
        devices=devices,
        of=found.devices,
        exact=exact,
        example=groups[0].example,
        variable=cause.variable,
        short=cause.short,
    )


def causes_of(campaign: Campaign) -> list[Cause]:
    content = campaign.template.frozen()
    needed_by = cache(partial(preview.needed_by, content))
    sure = not preview.depends(content)
    needed = preview.needed(content)
    return [*_out(), *(_missing(path, needed_by, sure=sure) for path in needed)]


def receives(campaign: Campaign) -> Sql:
    """Whoever is not out, and lacks nothing that the text needs in any language."""
    is_in = wants(campaign.asks)
    lacking = [lacks(path) for path in preview.needed(campaign.template.frozen())]
    params = [param for lack in lacking for param in lack.params]
    lost = " OR ".join(["FALSE", *(lack.sql for lack in lacking)])
    return Sql(f"({is_in.sql} AND NOT ({lost}))", [*is_in.params, *params])


def wants(asks: dict[str, Any]) -> Sql:
    """Whoever is not out, though a value may be missing: whom a page shows as a reader."""
    out = f"(SELECT {standing.out('%s', '%s')} FROM (SELECT 1) one {standing.JOIN})"
    return Sql(f"({out} = '')", [asks["marketing"], asks["category"]])


def _out() -> Iterator[Cause]:
    """Who is out lacks nothing: they are skipped for that, whatever they have."""
    for reason in standing.REASONS:
        yield Cause(
            Reason(reason),
            Sql("out = %s", [reason]),
            short=_("suppressed") if reason == standing.SUPPRESSED else _("unsubscribed"),
            words=partial(_said_no, reason),
            applies=lambda _group: True,
        )


def _said_no(reason: str, devices: int) -> str:
    said = ngettext(
        "%(count)s device: its person does not want such messages.",
        "%(count)s devices: their people do not want such messages.",
        devices,
    )
    if reason == standing.SUPPRESSED:
        said = ngettext(
            "%(count)s device: its person is on the suppression list.",
            "%(count)s devices: their people are on the suppression list.",
            devices,
        )
    return said % {"count": f"{devices:,}"}


def _missing(
    path: liquid.Path, needed_by: Callable[[str, str], Set[liquid.Path]], *, sure: bool
) -> Cause:
    name, lack = liquid.written(path), lacks(path)
    return Cause(
        Reason.MISSING_VALUE,
        Sql(f"(out = '' AND {lack.sql})", lack.params),
        short=_("no %(name)s") % {"name": name},
        words=partial(_without, name),
        applies=lambda group: path in needed_by(group.locale, group.platform),
        variable=name,
        sure=sure,
    )


def lacks(path: liquid.Path) -> Sql:
    """Of `c`: whether the value is missing. True or false, never NULL."""
    value = _value(path)
    return Sql(f"COALESCE({value.sql}, '') = ''", value.params)


def _value(path: liquid.Path) -> Sql:
    own = preview.OWN.get(str(path[0]))
    if own or len(path) == 1:
        return Sql(own) if own else Sql("c.attributes ->> %s", [path[0]])
    # What is empty inside a value is written as it stands, and missing only where it is not there.
    return Sql("(c.attributes #> %s::text[])::text", [[str(part) for part in path]])


def _without(name: str, devices: int) -> str:
    said = ngettext(
        "%(count)s device: its person has no “%(name)s”, and the text they read needs it.",
        "%(count)s devices: their people have no “%(name)s”, and the text they read needs it.",
        devices,
    )
    return said % {"count": f"{devices:,}", "name": name}


def outcome(found: Reach, skipped: Skipped) -> str:
    """“30,404 devices; 5,000 will be skipped: no city; 25,404 will be sent to.”"""
    said = ngettext("%(count)s device", "%(count)s devices", found.devices)
    parts = [said % {"count": counted(found.devices, found.exact)}]
    if skipped.devices is None:
        parts.append(_("how many will be skipped could not be counted"))
    else:
        exact = found.exact and skipped.exact
        if skipped.devices:
            lost = {"count": counted(skipped.devices, skipped.exact), "why": skipped.why}
            parts.append(_("%(count)s will be skipped: %(why)s") % lost)
        sent = counted(max(0, found.devices - skipped.devices), exact)
        parts.append(_("%(count)s will be sent to") % {"count": sent})
    return f"{'; '.join(parts)}."


def counted(number: int | None, exact: bool) -> str:
    if number is None:
        return "–"
    return f"{number:,}" if exact else _("about %(number)s") % {"number": f"{number:,}"}
