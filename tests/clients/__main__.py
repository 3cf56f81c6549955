"""Generates two clients of the API, and compiles them: `python -m tests.clients` (`make clients`).

TypeScript with openapi-typescript, Go with oapi-codegen, and a program of each that calls it. A
language that the machine lacks is reported and skipped. So is one whose tools cannot be fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.tools import HERE, PLACE, SCHEMA, make_schema, npm_packages

TYPESCRIPT = PLACE / "typescript"
GO = PLACE / "go"
STRICT = (
    *("--noEmit", "--strict", "--target", "es2022"),
    *("--module", "preserve", "--moduleResolution", "bundler"),
)
# What has a default need not be sent.
OPTIONS = ("--default-non-nullable", "false")


def main() -> int:
    make_schema()
    try:
        for language, compile_client in (("TypeScript", typescript), ("Go", go)):
            print(f"A client in {language}: {compile_client()}", flush=True)
    except subprocess.CalledProcessError as error:
        print(f"A client does not compile: {error}", flush=True)
        return 1
    return 0


def typescript() -> str:
    try:
        programs = npm_packages()
    except subprocess.CalledProcessError as error:
        return f"its tools could not be fetched, skipped: {error}"
    if programs is None:
        return "no npm on this machine, skipped."
    TYPESCRIPT.mkdir(exist_ok=True)
    shutil.copy(HERE / "program.ts", TYPESCRIPT)
    generated = TYPESCRIPT / "schema.d.ts"
    subprocess.run([programs / "openapi-typescript", SCHEMA, *OPTIONS, "-o", generated], check=True)
    subprocess.run([programs / "tsc", *STRICT, TYPESCRIPT / "program.ts"], check=True)
    return "compiled."


def go() -> str:
    program = shutil.which("go")
    if program is None:
        return "no go on this machine, skipped."
    shutil.copytree(HERE / "go", GO, dirs_exist_ok=True)
    try:
        _in_go(program, "mod", "download")
    except subprocess.CalledProcessError as error:
        return f"its tools could not be fetched, skipped: {error}"
    asked = ("-generate", "types,client", "-package", "client", "-o", "client.go", str(SCHEMA))
    _in_go(program, "tool", "oapi-codegen", *asked)
    _in_go(program, "build", "./...")
    return "compiled."


def _in_go(program: str, *arguments: str | Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=readonly"}
    subprocess.run([program, *arguments], cwd=GO, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
