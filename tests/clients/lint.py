"""Lints the API's schema by Redocly's rules: `python -m tests.clients.lint`, in `make check`.

Without Node, or without npm's registry, nobody is kept from working, and the last line says that
nobody looked.
"""

from __future__ import annotations

import subprocess
import sys

from tests.clients.tools import HERE, SCHEMA, make_schema, npm_packages


def main() -> int:
    make_schema()
    try:
        programs = npm_packages()
    except subprocess.CalledProcessError as error:
        print(f"Schema: NOT LINTED, its linter could not be installed: {error}")
        return 0
    if programs is None:
        print("Schema: NOT LINTED, there is no npm here: apt-get install npm")
        return 0
    asked = [f"--config={HERE / 'redocly.yaml'}", "--max-problems=50", "--format=stylish"]
    return subprocess.call([programs / "redocly", "lint", SCHEMA, *asked])


if __name__ == "__main__":
    sys.exit(main())
