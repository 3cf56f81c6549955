"""How many devices a campaign is sent to, and who is skipped for which reason: one count for all
pages, the planner and the API.

Planning and every room above it may enter.
"""
