"""Variants in the form of a campaign: chosen, weighted, and read back from what is posted.

The campaign's form, its steps and its panels enter.
"""
