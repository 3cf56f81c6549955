"""Values every room reads: text, JSON whose numbers stay, languages, zones, moments.

Knows no row; all may enter.
"""
