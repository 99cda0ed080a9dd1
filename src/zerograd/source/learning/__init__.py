"""Detectors: losses that reach nobody, and steps that change nothing.

Read lifeless.py first: terms of a loss that were cut off. Each of the others is a fault of its own, told in its first
lines.
"""
