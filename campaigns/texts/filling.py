"""Filling in texts fast, for one person after the other.

Most texts are words with plain variables between them, and are joined here. Everything else (a
filter, a condition, a value that is neither text nor a whole number) is left to Liquid, which takes
ten times as long. tests/texts/test_filling.py checks that both give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from liquid import Node
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError

from campaigns.texts import caps, liquid

Values = Mapping[str, Any]
WIDEST = 4  # bytes of a character in UTF-8


class _NotPlain(Exception):
    """Raised for a text that Liquid has to render."""


def ready(source: str) -> Callable[[Values], str]:
    """Compile a text to a function of a person's values, which raises what Liquid raises."""
    try:
        template = liquid.parse(source)
    except LiquidError as error:  # the text is older than a cap that it breaks
        return partial(_refuse, error)
    try:
        pieces = list(_pieces(template.nodes))
    except _NotPlain:
        return template.render

    def fill(values: Values) -> str:
        filled = []
        for piece, is_name in pieces:
            value = values.get(piece) if is_name else piece
            if type(value) is str:
                filled.append(value)
            elif type(value) is int:  # not a bool: Liquid writes that in its own way
                filled.append(str(value))
            else:
                return template.render(values)
        text = "".join(filled)
        return text if len(text) * WIDEST <= caps.MAX_OUTPUT else template.render(values)

    return fill


def _refuse(error: LiquidError, _values: Values) -> str:
    raise error.with_traceback(None)


def _pieces(nodes: list[Node]) -> Iterator[tuple[str, bool]]:
    """Yield literal words, and names of variables; the flag tells which."""
    for node in nodes:
        if isinstance(node, ContentNode):
            yield node.text, False
        elif isinstance(node, OutputNode):
            yield _name(node.expression), True
        else:
            raise _NotPlain


def _name(expression: Any) -> str:
    plain = isinstance(expression, FilteredExpression) and not expression.filters
    left = expression.left if plain else None
    if isinstance(left, Path) and len(left.path) == 1 and isinstance(left.path[0], str):
        return left.path[0]
    raise _NotPlain
