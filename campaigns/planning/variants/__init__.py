"""The variants of a campaign before its launch."""
