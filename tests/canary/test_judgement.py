"""Whether the first part is good enough: figures and terms in, what is missed out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.canary.judgement import ENOUGH, Figures, Missed, Terms, missed

TERMS = Terms(most_rejected=5, most_dead=10, least_received=30)
GOOD = {"sent": 1_000, "accepted": 1_000, "rejected": 0, "dead": 0, "able": 500, "received": 400}

counts = st.integers(0, 10_000)
percents = st.integers(0, 100)
terms = st.builds(Terms, percents, percents, percents)


@st.composite
def all_figures(draw: st.DrawFn) -> Figures:
    accepted, rejected, dead, unknown = (draw(counts) for _ in range(4))
    able = draw(st.none() | counts)
    return Figures(
        sent=accepted + rejected + dead + unknown,
        accepted=accepted,
        rejected=rejected,
        dead=dead,
        able=able,
        received=draw(st.integers(0, able or 0)),
    )


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, []),
        ({"rejected": 50}, []),
        ({"rejected": 51}, [Missed.REJECTED]),
        ({"dead": 100}, []),
        ({"dead": 101}, [Missed.DEAD]),
        ({"received": 150}, []),
        ({"received": 149}, [Missed.RECEIVED]),
        ({"able": ENOUGH, "received": 0}, [Missed.RECEIVED]),
        ({"able": ENOUGH - 1, "received": 0}, []),
        ({"able": None, "received": 0}, []),
        ({"rejected": 400, "dead": 400}, [Missed.REJECTED, Missed.DEAD]),
        ({"accepted": 0}, [Missed.ACCEPTED]),
        ({"sent": 0, "accepted": 0, "able": 0, "received": 0}, [Missed.ACCEPTED]),
    ],
)
def test_a_share_on_its_bound_is_good_and_one_beyond_it_is_not(
    changed: dict[str, int], wrong: list[Missed]
) -> None:
    assert missed(Figures(**{**GOOD, **changed}), TERMS) == wrong


@given(all_figures(), terms)
def test_the_rest_goes_exactly_when_every_bound_is_kept(figures: Figures, terms: Terms) -> None:
    wrong = missed(figures, terms)
    if not figures.accepted:
        assert wrong == [Missed.ACCEPTED]
        return
    assert (Missed.REJECTED in wrong) == (
        figures.rejected / figures.sent * 100 > terms.most_rejected + 1e-9
    )
    assert (Missed.DEAD in wrong) == (figures.dead / figures.sent * 100 > terms.most_dead + 1e-9)
    judged = terms.least_received > 0 and figures.able is not None and figures.able >= ENOUGH
    assert (Missed.RECEIVED in wrong) == (
        judged and figures.received / (figures.able or 1) * 100 < terms.least_received - 1e-9
    )


@given(all_figures(), terms, st.integers(1, 1_000))
def test_who_does_better_is_never_judged_worse(figures: Figures, terms: Terms, more: int) -> None:
    better = Figures(
        sent=figures.sent + more,
        accepted=figures.accepted + more,
        rejected=figures.rejected,
        dead=figures.dead,
        able=figures.able,
        received=figures.able or 0,
    )
    assert set(missed(better, terms)) <= {
        *missed(figures, terms),
        *([Missed.REJECTED, Missed.DEAD] if not figures.accepted else []),
    }


@given(all_figures(), terms)
def test_softer_terms_ask_no_more_often(figures: Figures, terms: Terms) -> None:
    softest = Terms(most_rejected=100, most_dead=100, least_received=0)
    assert set(missed(figures, softest)) <= {Missed.ACCEPTED}
    assert bool(missed(figures, softest)) <= bool(missed(figures, terms))
