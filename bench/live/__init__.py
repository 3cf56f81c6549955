"""The live inbox and its streams, receipts, and a backend that reports its load, under a send."""
