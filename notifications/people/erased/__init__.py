"""Who was erased just now, so that what was written of them in that very moment goes, too.

`people` and the tick that tidies enter.
"""
