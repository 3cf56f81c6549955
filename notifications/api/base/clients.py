"""Client generators: adapts the finished OpenAPI schema to them. The settings name `finish`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = dict[str, Any]
WORD = re.compile(r"[A-Za-z0-9]+")
NAMES = "x-enum-varnames"
NOTHING = "NullEnum"
REQUEST = "Request"  # the suffix of schemas for request bodies
PREFIX = "#/components/schemas/"
# For path parameters: a field checks them, so the schema needs no pattern.
IN_PATHS: Shape = {"type": "string", "minLength": 1}


def finish(result: Shape, generator: Any, request: Any, public: bool) -> Shape:
    shapes: dict[str, Shape] = result["components"]["schemas"]
    for name, shape in shapes.items():
        if "enum" in shape and name != NOTHING:
            shape[NAMES] = [_constant(name, value) for value in shape["enum"]]
    for shape in within(result):
        if shape.get("nullable") and "type" not in shape:
            shape["type"] = _type_of(shape, shapes)
    _say_in_shapes_that_they_may_be_null(result, shapes)
    for parameter in _in_paths(result):
        if parameter["schema"]["type"] == "string":
            parameter["schema"] = IN_PATHS
    _drop_unused(result, shapes)
    return result


def _constant(name: str, value: Any) -> str:
    """Return a value's constant name, with the enumeration's name in front: in Go, the values of
    all enumerations share one namespace."""
    words = WORD.findall(str(value))
    return name + "".join(word[:1].upper() + word[1:] for word in words)


def _type_of(shape: Shape, shapes: dict[str, Shape]) -> str:
    """Return the type of a nullable schema. In OpenAPI 3.0, `nullable` works only beside a type."""
    (first, *_) = shape.get("allOf") or shape.get("oneOf") or [shape]
    if "$ref" in first:
        first = shapes[first["$ref"].rpartition("/")[2]]
    found: str = first.get("type", "object")
    return found


def _say_in_shapes_that_they_may_be_null(result: Shape, shapes: dict[str, Shape]) -> None:
    """Move `nullable` from references into the schemas they refer to.

    openapi-python-client ignores it beside a single reference, and would make a `Cause` from null.
    A schema that is nullable only in some places gets a nullable copy for those.
    """
    maybe = [
        reference
        for shape in within(result)
        if shape.get("nullable")
        for reference in shape.get("allOf", ())
    ]
    among = {id(reference) for reference in maybe}
    always = {each["$ref"] for each in within(result) if "$ref" in each and id(each) not in among}
    for name in {reference["$ref"].removeprefix(PREFIX) for reference in maybe}:
        _name_objects_of(name, shapes)
    for reference in maybe:
        name = reference["$ref"].removeprefix(PREFIX)
        twin = _or_null(name) if reference["$ref"] in always else name
        # Without a title, openapi-python-client would call it CauseType0.
        shapes[twin] = {**shapes[name], "nullable": True, "title": twin}
        reference["$ref"] = f"{PREFIX}{twin}"


def _name_objects_of(name: str, shapes: dict[str, Shape]) -> None:
    """Give names to the objects inside a schema. openapi-python-client reads a nullable schema
    twice, and fails on unnamed objects in it."""
    fields = shapes[name]["properties"]
    for field, part in fields.items():
        inner = part.get("items", part)
        if inner.get("type") == "object" and "allOf" not in inner:
            shape_name = name + "".join(map(str.title, field.split("_")))
            shapes[shape_name] = {**inner, "description": part.get("description", "")}
            reference = {"$ref": f"{PREFIX}{shape_name}"}
            fields[field] = {**part, "items": reference} if "items" in part else reference


def _or_null(name: str) -> str:
    bare = name.removesuffix(REQUEST)
    return f"{bare}OrNull{name.removeprefix(bare)}"


def _in_paths(result: Shape) -> Iterator[Shape]:
    for methods in result["paths"].values():
        for operation in methods.values():
            yield from (each for each in operation.get("parameters", ()) if each["in"] == "path")


def _drop_unused(result: Shape, shapes: dict[str, Shape]) -> None:
    used = {shape["$ref"].rpartition("/")[2] for shape in within(result) if "$ref" in shape}
    for name in shapes.keys() - used:
        del shapes[name]


def within(value: Any) -> Iterator[Shape]:
    """Yield every object of the schema, except those in examples."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in ("example", "examples"):
                yield from within(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from within(inner)
