"""The door for the web server.

WSGI on purpose: every view is synchronous, and under ASGI Django would give each request a thread,
and so a database connection, of its own.
"""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
