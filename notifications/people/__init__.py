"""Who can be reached: projects, their people and devices.

The rooms of keys and staff, and all above, may enter.
"""
