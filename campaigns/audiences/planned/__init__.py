"""Planned: the people of a run that is to come, as they are now.

Whoever leaves them a place enters: the engine as it freezes a run, and the launch check.
"""
