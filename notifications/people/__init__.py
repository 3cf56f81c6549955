"""Who can be reached: projects, their people and devices.

All may enter but the values, and what PostgreSQL is to everybody.
"""
