"""Detectors: graphs that are kept for nothing.

Read kept.py first: losses that are summed or listed with their graphs; then retained.py: graphs that backward() is told
to keep. keeping.py, escapes.py, received.py and returned.py ask who may still go through them.
"""
