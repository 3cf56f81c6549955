"""The benchmark: what Carillon does on this machine, measured from outside. `make bench`."""
