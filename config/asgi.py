"""The ASGI applications: the product, and the probes behind METRICS_PORT, each behind a `Front`."""

from __future__ import annotations

from config import wsgi
from config.express import express
from config.front.front import Front
from config.front.sockets import allow_many
from config.health import metrics_server

allow_many()
application = Front(wsgi.application, short=express.WAY)
inside = Front(metrics_server.application)
