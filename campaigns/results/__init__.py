"""Results of runs. Everything here reads rows, and changes none."""
