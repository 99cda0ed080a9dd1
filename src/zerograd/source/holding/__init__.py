"""Detectors: optimizers that hold other parameters than those which learn.

Read parameters.py first: what an optimizer was given. Each of the others is a fault of its own, told in its first
lines.
"""
