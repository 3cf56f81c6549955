"""Alerts: what is wrong now. Endpoints get each when it is raised, each hour until it is
acknowledged, and when it ends.

Start with `conditions.py`: what is checked, and the thresholds. `evaluation.py` raises and ends.
"""
