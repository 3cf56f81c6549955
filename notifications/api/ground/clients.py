"""What generators of clients need in the schema, once it is made. The settings name it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = dict[str, Any]
WORD = re.compile(r"[A-Za-z0-9]+")
NAMES = "x-enum-varnames"
NOTHING = "NullEnum"
# What the address of a person or device may hold is refused by its field, not by its pattern.
IN_PATHS: Shape = {"type": "string", "minLength": 1}


def finish(result: Shape, generator: Any, request: Any, public: bool) -> Shape:
    shapes: dict[str, Shape] = result["components"]["schemas"]
    for name, shape in shapes.items():
        if "enum" in shape and name != NOTHING:
            shape[NAMES] = [_constant(name, value) for value in shape["enum"]]
    for shape in _within(result):
        if shape.get("nullable") and "type" not in shape:
            shape["type"] = _type_of(shape, shapes)
    for parameter in _in_paths(result):
        if parameter["schema"]["type"] == "string":
            parameter["schema"] = IN_PATHS
    _drop_unused(result, shapes)
    return result


def _constant(name: str, value: Any) -> str:
    """With the name of its enumeration: Go has one space for the values of all."""
    words = WORD.findall(str(value))
    return name + "".join(word[:1].upper() + word[1:] for word in words)


def _type_of(shape: Shape, shapes: dict[str, Shape]) -> str:
    """OpenAPI 3.0: only beside a type does `nullable` mean anything."""
    (first, *_) = shape.get("allOf") or shape.get("oneOf") or [shape]
    if "$ref" in first:
        first = shapes[first["$ref"].rpartition("/")[2]]
    found: str = first.get("type", "object")
    return found


def _in_paths(result: Shape) -> Iterator[Shape]:
    for methods in result["paths"].values():
        for operation in methods.values():
            yield from (each for each in operation.get("parameters", ()) if each["in"] == "path")


def _drop_unused(result: Shape, shapes: dict[str, Shape]) -> None:
    used = {shape["$ref"].rpartition("/")[2] for shape in _within(result) if "$ref" in shape}
    for name in shapes.keys() - used:
        del shapes[name]


def _within(value: Any) -> Iterator[Shape]:
    """Every object of the schema, but those of examples."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in ("example", "examples"):
                yield from _within(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _within(inner)
