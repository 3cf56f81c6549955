"""The web's application, as patient as HURRIED says: a test cannot wait for a minute."""

from __future__ import annotations

import json
import os

from config import wsgi
from config.front.front import Front
from config.front.sockets import allow_many
from config.front.worker_limits import Limits

allow_many()
application = Front(wsgi.application, Limits(**json.loads(os.environ.get("HURRIED", "{}"))))
