"""`make quick`: the tests that a change is likely to break, the nearest of them first.

Near is what imports a file, bears its folder's name below tests/, or names the file; then what
depends on those, and so on. Of equally near tests the quick ones come first, by what they took in
the last two runs here, until the time is up. What was left out is printed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
TOOLS = Path(sys.executable).parent
DURATIONS = ROOT / "var" / "test" / "durations.json"
LEFT_OUT = "CARILLON_LEFT_OUT"  # names the file that lists the tests of chosen files that stay out
LANES = 2
# Seconds for all, and for what somebody asked for; to start, and to read so many files, takes some.
FOR_ALL, FOR_SOME = 70, 3
IN_ONE_PROCESS = 5.0
GUESS = 0.5  # seconds of a test that has never run here: what one takes on average
# Run whatever was changed: the rules of the house, the whole way of a message, the pages' words.
CORE = ("test_house.py", "test_lanes.py", "sending/test_send.py")
TEXTS = {".py", ".html", ".js", ".css", ".lua", ".sql", ".md"}
A_TEST = re.compile(r"^ *(?:async )?def test_", re.MULTILINE)

Seconds = Mapping[str, float]


class Map:
    """Which file depends on which."""

    def of(self, files: Iterable[Path]) -> dict[Path, int]:
        """The test files that depend on these, and how many steps away."""
        steps = dict.fromkeys(files, 0)
        found = list(steps)
        for file in found:  # grows meanwhile
            for near in self._near(file):
                if near not in steps:
                    steps[near] = steps[file] + 1
                    found.append(near)
        return {file: step for file, step in steps.items() if is_test(file) and file.exists()}

    def _near(self, file: Path) -> Iterator[Path]:
        if file.name == "conftest.py":
            yield from tests_in(file.parent)
        elif file.suffix == ".py":
            yield from self._dependents.get(file, ())
        else:
            yield from (other for other, text in self._texts.items() if file.name in text)
        if TESTS not in file.parents and (folder := mirror(file)):
            yield from tests_in(folder)

    @cached_property
    def _dependents(self) -> dict[Path, list[Path]]:
        asked = [str(TOOLS / "ruff"), "analyze", "graph", "--quiet", "--direction", "dependents"]
        told = subprocess.check_output([*asked, "--detect-string-imports", "."], cwd=ROOT)
        return {
            ROOT / file: [ROOT / one for one in near] for file, near in json.loads(told).items()
        }

    @cached_property
    def _texts(self) -> dict[Path, str]:
        names = git("ls-files", "--cached", "--others", "--exclude-standard")
        files = [ROOT / name for name in names if Path(name).suffix in TEXTS]
        return {file: file.read_text() for file in files if file.exists()}


def is_test(file: Path) -> bool:
    return TESTS in file.parents and file.name.startswith("test_") and file.suffix == ".py"


@cache
def tests_in(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.rglob("test_*.py")))


# Templates lie in a folder named after their model.
FEATURE_OF = {
    "audience": "audiences",
    "automation": "triggers",
    "campaign": "planning",
    "run": "runs",
    "snippet": "texts",
    "template": "texts",
}


def mirror(file: Path) -> Path | None:
    """The folder of tests that bears the names of this file's folders."""
    product, *folders = file.relative_to(ROOT).parts[:-1] or ("",)
    model = folders[-1] if folders else ""
    if product == "templates" and model in FEATURE_OF:
        folders = [FEATURE_OF[model], "pages"]
    here = TESTS
    for name in folders:
        if (here / name).is_dir():
            here /= name
        elif holds_tests(TESTS / name):
            here = TESTS / name
    if not holds_tests(here):
        here = TESTS / product
    return here if holds_tests(here) else None


def holds_tests(folder: Path) -> bool:
    return folder != TESTS and any(folder.glob("test_*.py"))


def git(*words: str) -> list[str]:
    asked = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.splitlines() if asked.returncode == 0 else []


def changed() -> list[Path]:
    """Since the branch left main, committed or not."""
    bases = [git("merge-base", "HEAD", main) for main in ("origin/main", "main")]
    base = next((found[0] for found in bases if found), "HEAD")
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return [ROOT / name for name in names]


@dataclass(frozen=True)
class Unit:
    """One test, or a whole file of which nothing has run here."""

    steps: int
    seconds: float
    file: Path
    name: str = ""


def units(steps: Mapping[Path, int], durations: Seconds) -> list[Unit]:
    """In the order of their turns."""
    known: dict[Path, list[Unit]] = {file: [] for file in steps}
    for name, seconds in durations.items():
        file = ROOT / file_of(name)
        if file in steps:
            known[file].append(Unit(steps[file], seconds, file, name))
    for file, found in known.items():
        if not found:
            tests = len(A_TEST.findall(file.read_text()))
            found.append(Unit(steps[file], GUESS * tests, file))
    return sorted(
        (unit for found in known.values() for unit in found),
        key=lambda unit: (unit.steps, unit.seconds),
    )


def split(turns: Iterable[Unit], seconds: float) -> tuple[list[Unit], list[Unit]]:
    """What fits into so many seconds of all lanes together, and what does not."""
    fits, left_out, total = list[Unit](), list[Unit](), 0.0
    for unit in turns:
        total += unit.seconds
        (fits if total <= seconds * LANES else left_out).append(unit)
    return fits, left_out


def durations() -> dict[str, float]:
    """Of each test the shorter one of its last two: the other may have been beside other work."""
    return {name: min(last) for name, last in _remembered().items()}


def remember(took: Seconds) -> None:
    """What tests took now, beside what each took the time before."""
    known = {name: last for name, last in _remembered().items() if (ROOT / file_of(name)).exists()}
    known |= {name: [round(now, 3), *known.get(name, [])[:1]] for name, now in took.items()}
    draft = DURATIONS.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(known, indent=0))
    draft.replace(DURATIONS)


def _remembered() -> dict[str, list[float]]:
    try:
        return dict(json.loads(DURATIONS.read_text()))
    except (OSError, ValueError):
        return {}


def file_of(name: str) -> str:
    return name.partition("::")[0]


def main(wanted: list[str]) -> int:
    """The exit code. Test files and single tests that somebody names are run whole."""
    if wanted and all(is_test(ROOT / file_of(name)) for name in wanted):
        return run(*wanted)
    steps, seconds = asked_for(wanted) if wanted else touched()
    chosen, left_out = split(units(steps, durations()), seconds)
    print(words(chosen, left_out), flush=True)
    return max(0 if wanted else lint(), run_some(chosen, left_out))


def asked_for(wanted: list[str]) -> tuple[dict[Path, int], float]:
    paths = [(ROOT / name).resolve() for name in wanted]
    for name, path in zip(wanted, paths, strict=True):
        if not path.exists():
            sys.exit(f"IN={name}: there is no such file or folder in {ROOT}.")
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    seconds = FOR_ALL if {TESTS, ROOT} & set(paths) else FOR_SOME
    if all(TESTS in file.parents for file in files):
        return {file: 0 for file in files if is_test(file)}, seconds
    return Map().of(file for file in files if file.suffix in TEXTS), seconds


def touched() -> tuple[dict[Path, int], float]:
    """What was changed, and the core; nothing was: all tests."""
    if steps := Map().of(changed()):
        return {TESTS / name: 1 for name in CORE} | steps, FOR_ALL
    return dict.fromkeys(tests_in(TESTS), 0), FOR_ALL


def words(chosen: list[Unit], left_out: list[Unit]) -> str:
    seconds = sum(unit.seconds for unit in chosen) / LANES
    said = f"{len({unit.file for unit in chosen})} test files, about {seconds:.0f} s."
    if not left_out:
        return said
    longest = sorted(left_out, key=lambda unit: unit.seconds)[-3:]
    names = ", ".join(unit.name or str(unit.file.relative_to(ROOT)) for unit in longest)
    seconds = sum(unit.seconds for unit in left_out)
    return f"{said} Left out, as time is short: {seconds:.0f} s more, the longest {names}."


def lint() -> int:
    commands = (["check"], ["format", "--check"])
    return max(
        subprocess.run([TOOLS / "ruff", *words, "--quiet", "."], cwd=ROOT).returncode
        for words in commands
    )


def run_some(chosen: list[Unit], left_out: list[Unit]) -> int:
    files = {unit.file for unit in chosen}
    if not files:
        return 0
    listed = DURATIONS.with_name(f"left-out-{os.getpid()}")
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join(unit.name for unit in left_out if unit.file in files))
    os.environ[LEFT_OUT] = str(listed)
    several = sum(unit.seconds for unit in chosen) > IN_ONE_PROCESS
    lanes = ["-n", str(LANES), "--dist", "worksteal"] if several else []
    try:
        return run(*lanes, *sorted(str(file.relative_to(ROOT)) for file in files))
    finally:
        listed.unlink()


def run(*arguments: str) -> int:
    """With servers that stay up for the next time."""
    beside = [sys.executable, "-m", "config.stack", "exec", "--keep", "--"]
    pytest = [sys.executable, "-m", "pytest", "-q"]
    return subprocess.run([*beside, *pytest, *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
