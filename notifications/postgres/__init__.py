"""PostgreSQL as everybody meets it: its clock, its trouble, and how long a question to it may take.
All may enter.
"""
