"""What a run says, and what it says from then on where somebody changed its text under way.

Every room of campaigns may enter.
"""
