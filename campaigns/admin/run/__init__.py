"""The pages of runs: live, how they went, who was in them.

The overview and config's pages enter.
"""
