"""What people did: events, in one table with a partition for each month.

The API, the pages of people and what selects people enter through `writing.py` and `reading.py`;
what removes old rows through `clearing.py`.
"""
