"""Sending one chunk: claim, window, render, send, judge the answers, settle."""
