"""The doors for the web server: the product, and what METRICS_PORT shows, behind the front."""

from __future__ import annotations

from config import inside as probes
from config import wsgi
from config.front.front import Front
from config.front.sockets import allow_many

allow_many()
application = Front(wsgi.application)
inside = Front(probes.application)
