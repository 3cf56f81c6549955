"""What came of it: reads the rows, and changes none.

The doors, the commands and config enter; the engine never.
"""
