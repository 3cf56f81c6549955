"""PostgreSQL: its clock, outages, locks, time limits, migrations."""
