"""Alerts to people: what is wrong now, judged at beat's tick, told until somebody has seen it.

The tasks and the doors enter. What is watched, and from which number on, stands in `watching.py`.
"""
