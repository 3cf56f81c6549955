"""Reports: the pages of endpoints, their log, tests and replays. Importing them registers them.

`campaigns.admin` enters.
"""
