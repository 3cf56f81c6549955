"""Receipts: what an app's phones report, read row by row.

The feed enters, which many phones call, and the addresses of the API.
"""
