"""How sure is it that one text is opened more than another? Plain numbers in, plain numbers out;
docs/variants.md names the methods and their sources.

Every room that shows a comparison, or promises one, may enter.
"""
