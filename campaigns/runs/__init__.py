"""What happens: runs, their chunks and waves, the ledger, and the closed lists of reasons.

Every room of campaigns, config and the benchmark may enter.
"""
