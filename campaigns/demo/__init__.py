"""Demo: synthetic people and campaigns for `manage.py demo`, and two demo phones."""
