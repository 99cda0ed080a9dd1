"""Counters, and the tests that ask them.

Read in this order: tests, counters, origins, loops, questions. losses.py: what goes backward. The others know the
special cases: counters that go on (born, arms), sizes that must be one (ones), loops over a few words (turns), loops
that only move a schedule (pacing).
"""
