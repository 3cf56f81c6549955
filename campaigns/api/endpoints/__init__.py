"""Endpoints in the API: where reports go, their log, a test and another try. The list of addresses
enters.
"""
