"""FCM as Google has it: its schema, its rules, and the words of its refusals.

Doors, faults, the witness and the arguments enter.
"""
