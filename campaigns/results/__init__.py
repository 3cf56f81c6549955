"""Results of runs: reads the rows, and changes none."""
