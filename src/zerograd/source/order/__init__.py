"""Detectors: clears, scales and updates in the wrong place.

Each file is a fault of its own, told in its first lines.
"""
