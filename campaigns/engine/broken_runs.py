"""Broken runs: whether the rules and texts that a run stored can still be used; a pause if not.

The explanation is built anew for each reader, in that reader's language.
"""

from __future__ import annotations

from campaigns.audiences import rules
from campaigns.audiences.bounds import AS_KEPT
from campaigns.runs import details
from campaigns.runs.reasons import Cause
from campaigns.runs.revisions.revision import texts_of
from campaigns.runs.run import LEAVING, Run
from campaigns.texts.content import sources
from campaigns.texts.liquid import too_much

LONGEST = 300


def find_rules_problem(run: Run) -> str:
    """What is wrong with the run's rules, in the current language; empty: nothing."""
    problems = rules.problems(run.rules, AS_KEPT)
    return str(problems[0])[:LONGEST] if problems else ""


def find_text_problem(run: Run) -> str:
    """Which limit one of its texts exceeds; empty: none. The limit may be newer than the run."""
    texts = (source for content in texts_of(run).values() for source in sources(content))
    return next(filter(None, map(too_much, texts)), "")


def pause_if_broken(run: Run) -> bool:
    """Pause the run if one of its texts can no longer be used. Returns whether it was paused."""
    may_pause = run.state in (Run.State.PREPARING, *LEAVING)
    if may_pause and (problem := find_text_problem(run)):
        run.pause(Cause.BROKEN, details.make("text_broken", problem=problem))
        return True
    return False


ASKED = {"rules_broken": find_rules_problem, "text_broken": find_text_problem}


def detail_of(run: Run) -> str:
    """A run's detail in words, with the problem in the reader's language."""
    ask = ASKED.get(run.detail_code)
    problem = ask(run) if ask else ""
    anew = {"problem": problem} if problem else {}  # a release may have lifted the limit since
    return details.in_words(run.detail_code, run.detail_args, **anew)
