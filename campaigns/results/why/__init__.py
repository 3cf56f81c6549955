"""Why did this person get it, or not? What the rows of a run say of one person, and how that person
stands now.

The doors enter, and `registrations.py` for the export.
"""
