"""Rules for the code that no linter knows. import-linter holds which folder may import which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("config", "campaigns", "notifications", "emulator", "bench")
OWN = [
    path
    for folder in (*PRODUCT, "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]
OF_THE_PRODUCT = [path for path in OWN if path.relative_to(ROOT).parts[0] in PRODUCT]
NAMED_BY_DJANGO = ROOT / "config" / "postgresql" / "base.py"
IMPORTS = (ast.Import, ast.ImportFrom)
LOCKING_SUBQUERY = re.compile(r"\bIN\s*\(\s*SELECT\b(?:(?!\bSELECT\b).)*?\bSKIP LOCKED", re.DOTALL)
A_REASON = re.compile("# (?!noqa)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_file_is_named_after_what_it_owns() -> None:
    nobodys = {"utils", "helpers", "common", "manager", "base", "misc"}
    assert OWN
    assert [named(path) for path in OWN if path.stem in nobodys and path != NAMED_BY_DJANGO] == []


def test_an_import_inside_a_function_says_why() -> None:
    bare = []
    for path in OF_THE_PRODUCT:
        lines = path.read_text().splitlines()
        late = [line for line in late_imports(path) if not A_REASON.search(lines[line - 1])]
        bare += [f"{named(path)}:{line}" for line in late]
    assert OF_THE_PRODUCT
    assert bare == []


def test_no_subquery_of_in_skips_locked_rows() -> None:
    """PostgreSQL may run it once for each row, and each time it returns other rows."""
    assert LOCKING_SUBQUERY.search("x IN (\n SELECT id FROM t LIMIT 1 FOR UPDATE SKIP LOCKED)")
    assert [
        named(path) for path in OF_THE_PRODUCT if LOCKING_SUBQUERY.search(path.read_text())
    ] == []


def late_imports(path: Path) -> Iterator[int]:
    """Of each function the first: those that follow share its reason."""
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [node for node in ast.walk(function) if isinstance(node, IMPORTS)]
            yield from sorted(node.lineno for node in inside)[:1]


def test_what_tests_share_is_in_no_test_file() -> None:
    shared = [
        f"{named(path)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("tests.")
        and (node.module or "").rpartition(".")[2].startswith("test_")
        and (ROOT / f"{(node.module or '').replace('.', '/')}.py").is_file()
    ]
    assert shared == []
