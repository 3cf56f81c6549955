"""Expected opens: how many people would open a message, and when. Computed from the course of the
messages, and from how soon people of the project open what they get.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.engagement.opening import OpenDelays, OpenRate
from campaigns.forecast.course import MOST_STEPS, Course, fitting
from campaigns.forecast.rate_forecast import number
from notifications.values.moments import in_words
from notifications.values.shares import share as percent

MOSTLY = 0.9  # of those who open it: the last ones take days
# The opens keep the steps of the messages while they need fewer steps than this.
STEPS = 2 * MOST_STEPS


@dataclass(frozen=True)
class Opens:
    """The expected opens of the messages that leave."""

    expected: int  # sooner or later
    told: int  # how many of them phones will report. A stored forecast has this name
    share: float
    runs: list[int]  # the runs from which this was learned
    half_after: float | None = None  # seconds: half of them take no longer. None: nobody knows when
    most_per_second: float | None = None
    step: int = 0  # seconds; the steps of the messages, or longer ones
    counts: list[int] | None = None  # in each step from the start on; the others come later

    @property
    def later(self) -> int:
        return self.expected - sum(self.counts or ())


def expected(course: Course, opening: OpenRate, soon: OpenDelays) -> Opens | None:
    """Return the expected opens; None if nobody knows how many people open a message."""
    if not opening.known:
        return None
    share = opening.opened / opening.able
    total = round(course.sent * share)
    reported = round(total * min(1.0, opening.able / opening.reached)) if opening.reached else total
    runs = sorted(opening.runs)
    if not soon.seconds or not course.sent:
        return Opens(total, reported, share, runs)
    lasts = course.step * len(course.counts) + soon.after(MOSTLY)
    step = course.step if lasts < course.step * STEPS else fitting(lasts, MOST_STEPS)
    counts = _opens_by_step(course, soon, share, step, int(lasts // step) + 1)
    most = max(_opens_by_step(course, soon, share, course.step, len(course.counts) + MOST_STEPS))
    half = soon.after(0.5)
    return Opens(total, reported, share, runs, half, most / course.step, step, _round_steps(counts))


def _opens_by_step(
    course: Course, soon: OpenDelays, share: float, step: int, steps: int
) -> list[float]:
    """Return the opens in each step. A message counts as sent in the middle of its step."""
    sent_at = [
        ((number + 0.5) * course.step, count) for number, count in enumerate(course.counts) if count
    ]
    until = [
        share * sum(count * soon.share(end - at) for at, count in sent_at)
        for end in range(0, (steps + 1) * step, step)
    ]
    return [after - before for before, after in pairwise(until)]


def _round_steps(counts: Sequence[float]) -> list[int]:
    """Round the counts so that the running total stays right at every step."""
    sums, whole = 0.0, [0]
    for count in counts:
        sums += count
        whole.append(round(sums))
    return [after - before for before, after in pairwise(whole)]


def describe_opens(opens: Opens | None) -> str:
    """Describe the opens in words, with the runs from which they were learned."""
    if opens is None:
        return _(
            "Nobody knows yet how many open a message of this project: that takes 1,000 sent a day "
            "ago or earlier to phones that report it (docs/receipts.md), and 20 who opened one."
        )
    many = ngettext(
        "About %(count)s are expected to open it, as %(share)s %% did of run %(runs)s.",
        "About %(count)s are expected to open it, as %(share)s %% did of runs %(runs)s.",
        len(opens.runs),
    )
    part, runs = percent(round(10_000 * opens.share), 10_000), ", ".join(map(str, opens.runs))
    many %= {"count": f"{opens.expected:,}", "share": part, "runs": runs}
    return f"{many} {_describe_when(opens)}" if opens.expected else many


def _describe_when(opens: Opens) -> str:
    if opens.half_after is None or opens.most_per_second is None:
        return _(
            "When, nobody can say: the recipients of these runs are no longer kept, or it took too "
            "long to ask them."
        )
    half = _("Half of them do within %(time)s of getting it; at most about %(most)s a second.")
    half %= {"time": in_words(max(1, opens.half_after)), "most": number(opens.most_per_second)}
    if not opens.later:
        return half
    later = _("%(count)s of them do later than is drawn.") % {"count": f"{opens.later:,}"}
    return f"{half} {later}"
