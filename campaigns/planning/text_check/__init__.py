"""Text check: what a campaign's text says to its whole audience, read by a worker before anybody
gets it: values that are missing or odd, what is cut off, too large, said before, or leads nowhere.

Control, the tasks, the launch check and the doors enter.
"""
