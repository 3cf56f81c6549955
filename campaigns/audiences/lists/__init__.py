"""Static lists: how rules, a run or an import fill them, and the sizes of audiences."""
