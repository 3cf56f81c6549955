"""Rules on what happened: runs, events, other audiences, chance.

Each kind of rule is one module; `kinds.py` lists them.
"""
