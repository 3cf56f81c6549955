"""Run: each shape of the schema that may hold nothing, read by the generated client and written.

In the Python that `make clients` makes for it: `program.py SCHEMA`.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

MODELS = import_module("client.models")  # generated
Shape = dict[str, Any]
TEXTS = {"date-time": "2026-05-31T09:30:00+00:00", "date": "2026-05-31"}
TEXTS["uuid"] = "0a1b2c3d-0000-4000-8000-000000000000"
PLAIN: dict[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def main(schema: Path) -> None:
    shapes: dict[str, Shape] = json.loads(schema.read_text())["components"]["schemas"]
    read = 0
    for name, shape in shapes.items():
        if any(part.get("nullable") for part in shape.get("properties", {}).values()):
            written = emptiest({**shape, "nullable": False}, shapes)
            assert getattr(MODELS, name).from_dict(written).to_dict() == written, name
            read += 1
    print(f"{read} shapes with null were read and written.")


def emptiest(shape: Shape, shapes: dict[str, Shape]) -> Any:
    """What fits it and says least: nothing, if it may."""
    if shape.get("nullable"):
        return None
    for part in (shape, *shape.get("allOf", ())):
        if "$ref" in part:
            return emptiest(shapes[part["$ref"].rpartition("/")[2]], shapes)
    if "enum" in shape:
        return shape["enum"][0]
    if "properties" in shape:
        return {name: emptiest(part, shapes) for name, part in shape["properties"].items()}
    kind = shape.get("type", "object")
    return TEXTS.get(shape.get("format", ""), "x") if kind == "string" else PLAIN[kind]


main(Path(sys.argv[1]))
