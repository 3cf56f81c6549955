"""How results change with workers, recipients, people, visitors and time. `make bench SCALE=1`."""
