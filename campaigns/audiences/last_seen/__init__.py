"""Last seen: of a device or of its person, in rules, and for how long a device may be unseen.

Selection and the rooms above audiences may enter.
"""
