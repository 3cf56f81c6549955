"""The inbox: what was sent to a person and is kept for them, whether or not a phone was reached.
Whoever stores enters by storing.py; the API and what removes old rows enter, too.
"""
