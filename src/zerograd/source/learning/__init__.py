"""Detectors: updates that change nothing, and gradients that reach nobody.

Each file is a fault of its own, told in its first lines.
"""
