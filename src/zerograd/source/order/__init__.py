"""Detectors: clears, scales and updates in the wrong place, and who may be trusted to have done them elsewhere.

Each file is a fault or an excuse, told in its first lines.
"""
