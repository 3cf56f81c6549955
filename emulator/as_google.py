"""`python -m emulator.as_google --dir FOLDER COMMAND`: to the command, the emulator is Google.

Google's SDKs know FCM by its name and cannot be told another. So the command runs where that name
leads to an emulator: in namespaces of its own, which takes no root and leaves the machine as it is.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.folder import Folder
from emulator.speakers.certificates import GOOGLE_NAMES

UNSHARE = ("unshare", "--map-root-user", "--net", "--mount")
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
INSIDE = "--inside"
COULD_NOT_START = 2
EPILOG = f"""\
Inside, {", ".join(GOOGLE_NAMES)} are the emulator, on port 443. The variables by which
programs find a CA and a service account are set, and nothing else on the network can be reached.
"""


def main() -> int:
    wanted = _read()
    if not wanted.inside:
        return _go_inside()
    folder = Folder(wanted.dir)
    folder.create()
    _raise_loopback()
    _claim_the_names(folder)
    with _emulator(folder) as is_ready:
        if not is_ready:
            return COULD_NOT_START
        try:
            return subprocess.call(wanted.command, env=_environment(folder))
        except OSError as problem:
            reason = f"cannot run {wanted.command[0]}: {problem.strerror}"
            print(f"emulator: {reason}", file=sys.stderr)
            return COULD_NOT_START


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m emulator.as_google",
        description="Run a command to which an emulator is Google's FCM and token endpoint.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dir", type=Path, required=True, help="the emulator's folder")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run, and its arguments")
    wanted = parser.parse_args()
    if not wanted.command:
        parser.error("say what to run")
    return wanted


def _go_inside() -> int:
    """The same program again, as the first one of new namespaces."""
    try:
        subprocess.run([*UNSHARE, "true"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        reason = (getattr(problem, "stderr", None) or str(problem)).strip()
        print(
            f"emulator: no namespaces on this machine ({reason});"
            " emulator/README.md says how to do without",
            file=sys.stderr,
        )
        return COULD_NOT_START
    return subprocess.call(
        [*UNSHARE, sys.executable, "-m", "emulator.as_google", INSIDE, *sys.argv[1:]]
    )


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def _claim_the_names(folder: Folder) -> None:
    hosts = folder.path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(GOOGLE_NAMES)}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


@contextmanager
def _emulator(folder: Folder) -> Iterator[bool]:
    """Whether it is ready; if not, it has said why."""
    process = subprocess.Popen(
        [sys.executable, "-m", "emulator", "--dir", str(folder.path), "--port", "443"],
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    try:
        yield bool(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def _environment(folder: Folder) -> dict[str, str]:
    authority = str(folder.authority.resolve())
    without_proxy = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    return without_proxy | {
        "SSL_CERT_FILE": authority,
        "REQUESTS_CA_BUNDLE": authority,
        "NODE_EXTRA_CA_CERTS": authority,
        "GOOGLE_APPLICATION_CREDENTIALS": str(folder.service_account.resolve()),
    }


if __name__ == "__main__":
    sys.exit(main())
