"""Questions about people: who matches a search, what is known about one, how many devices are
active.

What else is kept of a person is added to `person_export.py` by `campaigns/registrations.py`.
"""
