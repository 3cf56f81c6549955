"""The ledger: runs, chunks, waves, deliveries, and the lists of reasons."""
