"""The pages of campaigns: the four steps, the list, the launch."""
