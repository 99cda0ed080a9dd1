"""Detectors: accumulation that does not add up.

Read accumulation.py first: the loop around a step. Each of the others is a fault of its own, told in its first lines.
"""
