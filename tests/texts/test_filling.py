"""A text is filled in the same way whether it is joined here or rendered by Liquid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.texts import filling, liquid

NAMES = ("first_name", "city", "points", "size", "forloop", "tablerow", "block", "self", "true")
PIECES = (
    *("Hi ", "한국어 ", "\n", "{", "}", " {{-", "-}} ", "{% raw %}{{ x }}{% endraw %}", ""),
    *(f"{{{{ {name} }}}}" for name in NAMES),
    *(f"{{{{{name}}}}}" for name in NAMES),
    *(f"{{{{- {name} -}}}}" for name in NAMES),
    *("{{ points | plus: 1 }}", "{{ city.size }}", "{{ city[0] }}", "{{ 'x' }}", "{{ 1 }}"),
    *("{{ empty }}", "{{ nil }}", "{% if city %}y{% endif %}", "{% assign city = 'Bath' %}"),
    *("{{ city | default: 'home' }}", "{{ city if points }}", "{# x #}"),
)
VALUES = (
    st.text(max_size=20)
    | st.integers()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.none()
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)


def outcome(fill: Any, values: dict[str, Any]) -> str:
    try:
        return str(fill(values))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=6),
    values=st.dictionaries(st.sampled_from(NAMES), VALUES),
)
def test_it_reads_as_liquid_would_have_it(pieces: list[str], values: dict[str, Any]) -> None:
    source = "".join(pieces)
    try:
        template = liquid.parse(source)
    except Exception:
        return
    assert outcome(filling.ready(source), values) == outcome(template.render, values)


@pytest.mark.parametrize("letter", ["x", "é", "한", "🎉"])
def test_what_is_too_long_for_liquid_is_too_long_here(letter: str) -> None:
    for length in (1_000, 1_024, 1_025, 1_366, 2_049, 4_097):
        values = {"city": letter * length}
        expected = outcome(liquid.parse("{{ city }}").render, values)
        assert outcome(filling.ready("{{ city }}"), values) == expected
