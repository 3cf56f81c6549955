"""The text check: a worker renders a campaign's text for its whole audience, and reports
missing values, cut texts, sizes and dead links.
"""
