"""How often has this person been rung lately? Counted as windows open, where a project has caps.

`campaigns/runs` and `campaigns/sending` enter, and whoever foretells a launch or forgets people.
"""
