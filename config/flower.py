"""The Celery application that Flower runs on: it hears of tasks, and cannot run one.

It gets two secrets only: the broker's address and its own password. `config.celery` would read all
settings. It would need the database and every key, in the one process that strangers may reach.
"""

from __future__ import annotations

import os

from celery import Celery
from django.core.exceptions import ImproperlyConfigured

from config import flower_door
from config.boot.environment import env_secret, env_text, insist_on
from config.boot.redis_address import redis_address, tls_of
from config.workers.broker import PRIORITY_STEPS

insist_on("REDIS_URL", "FLOWER_BASIC_AUTH")  # without the password everybody could look
try:
    BROKER = redis_address(env_secret("REDIS_URL"), ca_file=env_text("REDIS_CA_FILE", ""))
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
# Flower reads its options from the environment, after this.
os.environ["FLOWER_BASIC_AUTH"] = env_secret("FLOWER_BASIC_AUTH")
flower_door.install()

app = Celery("carillon", fixups=[])  # no Django
app.conf.update(
    broker_url=BROKER,
    broker_use_ssl=tls_of(BROKER) or False,  # Flower does not read it from the address
    broker_transport_options={"priority_steps": PRIORITY_STEPS},
    accept_content=["json"],
    result_accept_content=["json"],
)
