"""Events on disk, in order: what every report is made from.

A trace is JSON lines. The first line is the header, every other line one event; a reader stops at a torn last line.
"""
