"""Rehearsals on the pages: asked for in a dialog, watched live, and compared with the real run. The
pages of campaigns and runs enter.
"""
