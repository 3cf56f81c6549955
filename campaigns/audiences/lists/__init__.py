"""How static lists get their people, from rules, a run or an import, and how many people each
audience of a list of them has. Pages and the tasks that fill and count may enter.
"""
