"""What becomes of an intent: as it is typed, when somebody asks whether it is ready, at its launch.

The functions of a Campaign; it enters itself.
"""
