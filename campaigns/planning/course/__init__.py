"""How a run would go: who of its people gets it when, as far as clocks and the capacity decide it.

The launch check, the results and the pages of runs enter.
"""
