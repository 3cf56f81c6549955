"""Installs lock files into .venv, or says in one line what this machine lacks.

A plain script for whatever `python3` there is, so its syntax is Python 3.6's and it imports nothing
of ours. An installation that was interrupted leaves no stamp and is simply done again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
KNOWN = ("python3.14", "python3.13", "python3.12", "python3.11")
CHECKOUT = Path(__file__).resolve().parents[2]
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"


def main() -> None:
    locks = [CHECKOUT / name for name in sys.argv[1:]]
    wanted = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    stamp = VENV / f".{locks[-1].stem}.installed"
    if stamp.is_file() and stamp.read_text() == wanted and _works(PYTHON):
        return
    _insist_on_writable(VENV if VENV.exists() else CHECKOUT)
    if not _works(PYTHON):
        _insist_on_recent_python()
        _insist_on_venv()
        _run("making .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
    names = ", ".join(sys.argv[1:])
    print(f"Installing {names} into .venv (the first time takes a minute).", flush=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run("installing packages", [*pip, "--require-hashes", *(f"-r{lock}" for lock in locks)])
    stamp.write_text(wanted)


def _works(python: Path) -> bool:
    """Whether it starts and is new enough: an upgrade of the system may have removed .venv's."""
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
        if newer and _works(Path(newer)):  # pyenv's command for a version that is not chosen fails
            os.execv(newer, [newer, *sys.argv])
    sys.exit(too_old(sys.version_info[:3], sys.executable))


def too_old(version: tuple, executable: str) -> str:  # type: ignore[type-arg]
    found = ".".join(str(part) for part in version)
    return (
        f"carillon: Python 3.11 or newer is needed; {executable} is Python {found}.\n"
        "Install a newer one, then name it: make run PYTHON=/path/to/python3.12"
    )


def _insist_on_venv() -> None:
    """Debian and Ubuntu ship Python without these two; `python3 -m venv` would fail half-way."""
    try:
        import ensurepip  # noqa: F401  # only asked for: what needs it is another process
        import venv  # noqa: F401
    except ImportError:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(
            f"carillon: {sys.executable} cannot make virtual environments.\n"
            f"On Debian and Ubuntu, as root: apt-get install {package}"
        )


def _run(what: str, command: list) -> None:  # type: ignore[type-arg]
    code = subprocess.call(command)
    if code:
        sys.exit(f"carillon: {what} failed (see above); `make` tries again from where it stopped.")


if __name__ == "__main__":
    main()
