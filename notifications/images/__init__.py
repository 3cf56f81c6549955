"""Images that somebody uploaded: what is taken, where its bytes are, and how phones fetch them.

The pages enter, and whoever has to know whether an address is one of ours.
"""
