"""Questions about people: who matches a search, what is known about one, how many devices are
active.

All may enter but the rest of people (who keeps something of somebody tells it to `person_export.py`).
"""
