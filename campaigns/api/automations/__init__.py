"""Automations in the API: what is asked for and how one is shown, and the endpoints. The list of
addresses enters.
"""
