"""Django's backend for PostgreSQL, but for one habit. Django alone enters, for `base.py`."""
