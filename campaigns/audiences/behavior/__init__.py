"""Rules that look beyond a person's own row: each kind of rule is one module with all it needs.

Audiences enter, most of them through `kinds.py`; nothing in here knows the tree around a rule.
"""
