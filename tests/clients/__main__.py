"""Generates three clients of the API and tries them: `python -m tests.clients` (`make clients`).

TypeScript with openapi-typescript, Go with oapi-codegen, Python with openapi-python-client, and a
program of each that uses it; Python's is run. A language that the machine lacks is reported and
skipped. So is one whose tools cannot be fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT

from tests.clients.tools import HERE, PLACE, SCHEMA, make_schema, npm_packages

TYPESCRIPT = PLACE / "typescript"
GO = PLACE / "go"
PYTHON = PLACE / "python"
STRICT = (
    *("--noEmit", "--strict", "--target", "es2022"),
    *("--module", "preserve", "--moduleResolution", "bundler"),
)
LOCK = "requirements.txt"
# What has a default need not be sent.
OPTIONS = ("--default-non-nullable", "false")


def main() -> int:
    make_schema()
    try:
        for language, compile_client in (
            *(("TypeScript", typescript), ("Go", go), ("Python", python)),
        ):
            print(f"A client in {language}: {compile_client()}", flush=True)
    except subprocess.CalledProcessError as error:
        print(f"A client does not work: {error}", flush=True)
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


def python() -> str:
    """Its packages need other versions than ours, so they get a Python of their own."""
    shutil.copytree(HERE / "python", PYTHON, dirs_exist_ok=True)
    programs = PYTHON / "venv" / "bin"
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
    try:
        subprocess.run([sys.executable, "-m", "venv", PYTHON / "venv"], check=True)
        subprocess.run([programs / "python", *pip, "-r", PYTHON / LOCK], check=True)
    except subprocess.CalledProcessError as error:
        return f"its tools could not be fetched, skipped: {error}"
    asked = ("generate", "--path", SCHEMA, "--meta", "none", "--overwrite")
    made = PYTHON / "client"
    generate: list[str | Path] = [programs / "openapi-python-client", *asked, "--output-path", made]
    said = subprocess.run(generate, check=True, text=True, stdout=PIPE, stderr=STDOUT).stdout
    if "Failure to process schema" in said:
        print(said)
        raise subprocess.CalledProcessError(1, generate)
    subprocess.run([programs / "python", PYTHON / "program.py", SCHEMA], check=True)
    return "generated and run."


def _in_go(program: str, *arguments: str | Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=readonly"}
    subprocess.run([program, *arguments], cwd=GO, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
