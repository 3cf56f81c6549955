"""Comparing the groups of a run: a line for each group, and a plain sentence for each comparison.

For opens, each variant is compared with A. For the goal, all people who were sent a text are
compared with the control group. Each variant is also compared with A if the goal chooses a variant
for the rest, or if there is no control group.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from campaigns.engagement import by_group, certainty, funnel
from campaigns.engagement.by_group import People
from campaigns.engagement.funnel import Goal, StepCount
from campaigns.results import breakdown
from campaigns.results.breakdown import Kind
from campaigns.runs.run import Run
from campaigns.runs.variants.group import CONTROL, MAIN, REST, gets_a_text, in_words, name_of
from notifications.values.shares import share

EVERY = "sent"  # all people who were sent a text, of any variant


@dataclass(frozen=True)
class Line:
    """The results of one group. `kind`: its totals by device, once the ended run is counted."""

    group: int
    people: int
    devices: int
    kind: Kind | None
    steps: list[StepCount]  # received, displayed, opened: by device
    goal: Goal | None
    text: int | None  # the variant whose text it gets; None: not chosen yet
    opened: int | None  # people; None: it takes too long to count
    did: int | None  # people, whether or not they opened it

    @property
    def words(self) -> str:
        if self.group != REST or self.text is None:
            return in_words(self.group)
        return _("The rest: %(variant)s") % {"variant": in_words(self.text)}

    @property
    def name(self) -> str:
        return name_of(self.group)

    @property
    def may_have(self) -> int:
        """Devices that may have got it; 0 until they are counted."""
        return self.kind.accepted + self.kind.unknown if self.kind else 0

    @property
    def gets_a_text(self) -> bool:
        return gets_a_text(self.group)


class Metric(StrEnum):
    OPENED = "opened"
    DID = "did"


class Answer(StrEnum):
    MORE = "more"
    FEWER = "fewer"
    TOO_EARLY = "too_early"


@dataclass(frozen=True)
class Comparison:
    """One group compared with another: in each, `count` of `of` people."""

    metric: Metric
    one: str  # in words
    other: str
    codes: tuple[str, str]  # the same for programs
    count: int
    of: int
    other_count: int
    other_of: int
    answer: Answer
    goal: str = ""

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        mine, theirs = (self.count, self.of), (self.other_count, self.other_of)
        return certainty.interval(*mine), certainty.interval(*theirs)

    @property
    def sentence(self) -> str:
        """“B was opened more: by 4.1 % of its people, against 3.2 % (A), surely.”"""
        text = SENTENCES[self.metric, self.answer]()
        return text % {
            "one": self.one,
            "other": self.other,
            "share": share(self.count, self.of),
            "other_share": share(self.other_count, self.other_of),
            "goal": self.goal,
        }


SENTENCES = {
    (Metric.OPENED, Answer.MORE): lambda: _(
        "%(one)s was opened more, surely: by %(share)s %% of its people, against "
        "%(other_share)s %% (%(other)s)."
    ),
    (Metric.OPENED, Answer.FEWER): lambda: _(
        "%(one)s was opened less, surely: by %(share)s %% of its people, against "
        "%(other_share)s %% (%(other)s)."
    ),
    (Metric.OPENED, Answer.TOO_EARLY): lambda: _(
        "%(one)s or %(other)s: too early to say which is opened more (%(share)s %% and "
        "%(other_share)s %% of their people)."
    ),
    (Metric.DID, Answer.MORE): lambda: _(
        "%(one)s: “%(goal)s” came from more people, surely: %(share)s %%, against "
        "%(other_share)s %% (%(other)s)."
    ),
    (Metric.DID, Answer.FEWER): lambda: _(
        "%(one)s: “%(goal)s” came from fewer people, surely: %(share)s %%, against "
        "%(other_share)s %% (%(other)s)."
    ),
    (Metric.DID, Answer.TOO_EARLY): lambda: _(
        "%(one)s or %(other)s: too early to say which brings more “%(goal)s” (%(share)s %% and "
        "%(other_share)s %% of their people)."
    ),
}


@dataclass(frozen=True)
class Compared:
    lines: list[Line]
    comparisons: list[Comparison]
    whole: bool  # whether all of it could be counted in time


def compared(run: Run) -> Compared | None:
    """Compare the groups of a run; None if it has none, or if people are still being assigned."""
    if run.forgotten_at or not run.split or run.evaluated_at is None:
        return None
    people, devices = by_group.groups(run)
    opened, did = by_group.opened(run), by_group.did(run)
    lines = _build_lines(run, (people, devices), opened, did)
    comparisons = [*_of_openings(people, opened), *_of_deeds(run, people, did)]
    return Compared(lines, comparisons, whole=opened is not None and did is not None)


def _build_lines(
    run: Run, numbers: tuple[People, People], opened: People | None, did: People | None
) -> list[Line]:
    people, devices = numbers
    stored = breakdown.kept_of(run)
    kinds = {kind.value: kind for kind in breakdown.cut(stored, "variant").kinds} if stored else {}
    groups = sorted(people, key=_sort_key)
    funnels = funnel.of_values(run, stored, "variant", [str(group) for group in groups])
    return [
        Line(
            group,
            people[group],
            devices.get(group, 0),
            kinds.get(str(group)),
            group_funnel.steps,
            group_funnel.goal,
            run.winner if group == REST else group,
            None if opened is None else opened.get(group, 0),
            None if did is None else did.get(group, 0),
        )
        for group, group_funnel in zip(groups, funnels, strict=True)
    ]


def _sort_key(group: int) -> tuple[bool, int]:
    """A sort key: the variants in their order, then the groups that get nothing."""
    return not gets_a_text(group), abs(group)


def _of_openings(people: People, opened: People | None) -> list[Comparison]:
    tried = _tried_variants(people)
    if not opened or MAIN not in people:
        return []
    return [
        _compare_with_main(Metric.OPENED, group, opened, people, comparisons=len(tried))
        for group in tried
    ]


def _tried_variants(people: People) -> list[int]:
    """The variants without the main text, and without the rest of a trial, which tried none."""
    return [group for group in sorted(people) if MAIN < group < REST]


def _of_deeds(run: Run, people: People, did: People | None) -> list[Comparison]:
    if not did:
        return []
    tried = _tried_variants(people)
    of_variants = [
        _compare_with_main(
            Metric.DID, group, did, people, comparisons=len(tried), goal=run.goal_event
        )
        for group in tried
        if MAIN in people
    ]
    if CONTROL not in people:
        return of_variants
    groups = [group for group in people if gets_a_text(group)]
    count, of = (sum(numbers.get(group, 0) for group in groups) for numbers in (did, people))
    names = (_("Those who were sent it"), in_words(CONTROL))
    codes = (EVERY, name_of(CONTROL))
    control = (did.get(CONTROL, 0), people[CONTROL])
    answer = _judge((count, of), control, comparisons=1)
    of_all = Comparison(Metric.DID, *names, codes, count, of, *control, answer, run.goal_event)
    return [of_all, *(of_variants if run.winner_by == Run.WinnerBy.GOAL else ())]


def _compare_with_main(
    metric: Metric,
    variant: int,
    counts: People,
    people: People,
    *,
    comparisons: int,
    goal: str = "",
) -> Comparison:
    """Compare a variant with the main text."""
    names = in_words(variant), in_words(MAIN)
    mine, theirs = ((counts.get(group, 0), people[group]) for group in (variant, MAIN))
    answer = _judge(mine, theirs, comparisons=comparisons)
    codes = (name_of(variant), name_of(MAIN))
    return Comparison(metric, *names, codes, *mine, *theirs, answer, goal)


def _judge(mine: tuple[int, int], theirs: tuple[int, int], *, comparisons: int) -> Answer:
    """Whether one group is surely ahead of another; each is (count, of)."""
    if not certainty.is_sure(certainty.strength(*mine, *theirs), comparisons=comparisons):
        return Answer.TOO_EARLY
    return Answer.MORE if mine[0] * theirs[1] > theirs[0] * mine[1] else Answer.FEWER
