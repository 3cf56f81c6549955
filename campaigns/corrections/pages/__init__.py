"""The dialogs that change the text of a run, and that correct a wrong one."""
