"""The forecast: who would get a campaign, how many are skipped and why, when each message leaves,
and what the quota of a Firebase project still allows.
"""
