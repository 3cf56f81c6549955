"""Installs lock files into .venv, or says in one line what this machine lacks.

A plain script for any `python3`, so its syntax is Python 3.6's and it imports none of our code. An
interrupted installation leaves no stamp, and the next run does it again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

OLDEST = (3, 11)
KNOWN = ("python3.14", "python3.13", "python3.12", "python3.11")
# How pip begins the lines that name a package.
LOOKED_AT = ("Collecting ", "Processing ", "Requirement already satisfied: ")
CHECKOUT = Path(__file__).resolve().parents[2]
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"


def main() -> None:
    locks = [CHECKOUT / name for name in sys.argv[1:]]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    stamp = VENV / f".{locks[-1].stem}.installed"
    if stamp.is_file() and stamp.read_text() == digest and _works(PYTHON):
        return
    _insist_on_writable(VENV if VENV.exists() else CHECKOUT)
    if not _works(PYTHON):
        _insist_on_recent_python()
        _insist_on_venv()
        _run("making .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
    names = ", ".join(sys.argv[1:])
    print(f"Installing {names} into .venv (the first time takes a minute).", flush=True)
    _install(locks)
    stamp.write_text(digest)


def _works(python: Path) -> bool:
    """Whether it starts and is new enough: an upgrade of the system may have removed it."""
    question = f"import sys; sys.exit(sys.version_info < {OLDEST})"
    try:
        return subprocess.call([str(python), "-c", question], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def _insist_on_writable(folder: Path) -> None:
    if not os.access(str(folder), os.W_OK):
        sys.exit(f"carillon: {folder} is not writable for you. Work in a checkout of your own.")


def _insist_on_recent_python() -> None:
    if sys.version_info >= OLDEST:
        return
    for name in KNOWN:
        newer = shutil.which(name)
        if newer and _works(Path(newer)):  # pyenv's command for a version that is not active fails
            os.execv(newer, [newer, *sys.argv])
    sys.exit(too_old(sys.version_info[:3], sys.executable))


def too_old(version: tuple, executable: str) -> str:  # type: ignore[type-arg]
    version_text = ".".join(str(part) for part in version)
    return (
        f"carillon: Python 3.11 or newer is needed; {executable} is Python {version_text}.\n"
        "Install a newer one, then name it: make run PYTHON=/path/to/python3.12"
    )


def _insist_on_venv() -> None:
    """Refuse a Python without these two modules: `python3 -m venv` would fail half-way.

    Debian and Ubuntu ship Python so.
    """
    try:
        import ensurepip  # noqa: F401  # only tested here: another process uses it
        import venv  # noqa: F401
    except ImportError:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(
            f"carillon: {sys.executable} cannot make virtual environments.\n"
            f"On Debian and Ubuntu, as root: apt-get install {package}"
        )


def _install(locks: list) -> None:  # type: ignore[type-arg]
    """Run pip and show its progress.

    pip names each package that it fetches, and installs all of them without a word.
    """
    packages = {line.split("==")[0] for lock in locks for line in lock.open() if "==" in line}
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]
    command = [*pip, "--require-hashes", *(f"-r{lock}" for lock in locks)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True)
    assert process.stdout is not None
    before, fetched, missing = _count_installed(), 0, 0
    for line in process.stdout:
        if line.startswith(LOOKED_AT):
            fetched += 1
            _show_progress("Fetched", fetched, len(packages))
        elif line.startswith("Installing collected packages: "):
            missing = line.count(",") + 1
            break
    while process.poll() is None:
        _show_progress("Installed", _count_installed() - before, missing)
        time.sleep(0.2)
    _clear_progress()
    _exit_if_failed("installing packages", process.returncode)


def _count_installed() -> int:
    return len(list(VENV.glob("lib/*/site-packages/*.dist-info")))


def _show_progress(verb: str, count: int, total: int) -> None:
    """Print progress on a terminal; a log would keep every step."""
    if sys.stdout.isatty():
        print(f"\r{verb} {min(count, total)} of {total} packages.", end="\033[K", flush=True)


def _clear_progress() -> None:
    if sys.stdout.isatty():
        print("\r", end="\033[K", flush=True)


def _run(step: str, command: list) -> None:  # type: ignore[type-arg]
    _exit_if_failed(step, subprocess.call(command))


def _exit_if_failed(step: str, code: int) -> None:
    if code:
        sys.exit(f"carillon: {step} failed (see above); `make` tries again from where it stopped.")


if __name__ == "__main__":
    main()
