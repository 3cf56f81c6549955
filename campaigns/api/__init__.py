"""The other half of `/api/v1`: audiences, templates, campaigns, runs and deliveries.

config's addresses and the command `report` enter.
"""
