"""Whatever passes the caps costs bounded work: counted in calls, on texts made to be dear."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns.runs.reasons import Reason
from campaigns.texts import liquid
from campaigns.texts.rendering import Reader, Unrenderable, render

VALUES: dict[str, Any] = {"a": "x" * 2_000, "n": 10**999, "list": [["x"] * 50] * 50, "d": {"a": 1}}
READ, RENDERED = 200_000, 50_000  # calls; an ordinary text takes some hundreds


def calls(work: Callable[[], Any]) -> int:
    """How many functions were called, Python's own included."""
    count = 0

    def noted(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(noted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


PIECES = (
    "{{", "}}", "{%", "%}", " ", " " * 40, "a", "n", "list", "a" * 40, ".", "..", "a.a", "[", "]",
    "['a']", "[0]", "(", ")", "'", '"', "|", ":", ",", "=", "==", "<", " and ", " or ", " not ",
    " contains ", "if a", "endif", "else", "elsif a", "unless a", "case a", "when a", "endcase",
    "assign a = a", "raw", "endraw", "comment", "endcomment", "echo a", "#", "-", "1", "9" * 40,
    "| append: a", "| times: n", "| replace: 'x', a", "| escape", "| date: '%c'", "| truncate: 9",
    "{{ a }}", "{% if a %}", "{% endif %}", "{% assign a = a | append: a %}", "1e9", "\n",
)  # fmt: skip
piece = st.sampled_from(PIECES)
repeated = st.builds(lambda one, times: one * times, piece, st.sampled_from([1, 2, 9, 99, 999]))
nested = st.builds(
    lambda start, end, times, inside: start * times + inside + end * times,
    *(piece, piece, st.sampled_from([1, 5, 30, 300]), piece),
)
tag = st.builds(
    lambda start, inside, end: f"{start} {''.join(inside)} {end}",
    *(st.sampled_from(["{{", "{%", "{% if", "{{ a |"]), st.lists(piece | repeated | nested)),
    st.sampled_from(["}}", "%}", "%}{% endif %}", ""]),
)
nasty = st.lists(piece | repeated | nested | tag, max_size=30).map("".join)


@settings(max_examples=300, deadline=None)
@given(source=nasty)
def test_no_text_costs_more_to_read_or_to_render_than_a_bounded_number_of_steps(
    source: str,
) -> None:
    read: list[Any] = []
    assert calls(lambda: read.append(liquid._read(source))) < READ
    template = read[0].template
    if template is None:
        return

    def rendered() -> None:
        try:
            template.render(**VALUES)
        except RecursionError:
            raise
        except Exception:  # the person is skipped
            pass

    assert calls(rendered) < RENDERED


WORST = {
    "brackets": ("{{ " + "a[" * 5 + "1" + "]" * 5 + " }}") * 100,
    "tags": "{{a}}" * 100,
    "and": ("{% if a" + " and a" * 99 + "%}x{%endif%}") * 5,
    "compared": ("{% if a" + "==a" * 99 + "%}x{%endif%}") * 11,
    "filters": ("{{ a" + "|size" * 6 + "}}") * 100,
    "arguments": ("{{ a|append:" + "a," * 470 + "a}}") * 4,
    "when": "{% case a %}" + "{%when a,a,a,a,a,a,a,a,a,a%}" * 97 + "{%endcase%}",
    "nested conditions": "{%if a%}" * 25 + "{%endif%}" * 25,
    "paths": ("{{ a" + ".a" * 480 + "}}") * 4,
}


@pytest.mark.parametrize("source", WORST.values(), ids=WORST)
def test_the_dearest_of_each_kind_stays_far_below(source: str) -> None:
    assert calls(lambda: liquid._read(source)) < READ


# --- What Liquid bounds while it renders, each opened by an attack --------------------------------


def rendered(title: str, **attributes: Any) -> str:
    reader = Reader(
        reference="0:0",
        external_id="ada",
        attributes=attributes,
        locale="en",
        timezone="UTC",
        kind="token",
        address="x",
        platform="android",
    )
    empty = {"body": "", "image": "", "link": "", "data": {}, "locales": {}}
    content = {**empty, "title": title}
    return str(render(content, reader, collapse_id="c", ttl_seconds=60).title)


@pytest.mark.parametrize(
    "attack",
    [
        "{{ a }}{{ a }}{{ a }}",  # output_stream_limit
        "{{ a | append: a | append: a }}",
        "{% assign a = a | append: a %}" * 20 + "{{ a | size }}",  # local_namespace_limit
        "{% assign n = n | times: n %}" * 20 + "{{ n | size }}",
        "{{ n }}" * 9 + "{{ n | times: n | times: n | times: n | times: n | times: n }}",
        "{{ a | replace: '', a }}",  # our own replace
        "{{ a | replace: 'x', a | replace: 'x', a }}",
        "{%if a%}" * 40 + "{%endif%}" * 40,  # block_nesting_limit
        "{% if (1..99999999999999) contains 'x' %}{% endif %}x",
        "{{ list }}" * 20,
    ],
)
def test_what_grows_while_it_is_rendered_skips_one_person(attack: str) -> None:
    with pytest.raises(Unrenderable) as skipped:
        rendered(attack, **VALUES)
    assert skipped.value.reason in (Reason.TEMPLATE_ERROR, Reason.TOO_LONG)
