"""Settling rules before they are used or frozen: what depends on other rows is looked up once.
Whoever counts, launches or freezes may enter.
"""
