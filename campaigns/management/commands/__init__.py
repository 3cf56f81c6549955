"""One command a file: `manage.py` and its name. Only Django enters, by that name."""
