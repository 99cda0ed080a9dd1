"""Findings as people and programs read them. Nothing here finds anything."""
