#!/usr/bin/env python
"""Django's command line. In a second shell it finds the stack that `make run` started."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # it names the variable and the fix
        sys.exit(f"carillon: {error}")


if __name__ == "__main__":
    main()
