"""The pages of campaigns: the four steps, the list, the launch. The pages of runs enter."""
