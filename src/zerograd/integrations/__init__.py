"""Doors for trainers: callbacks that attach the audit to a run and hand its numbers to the trainer's own loggers.

Read attached.py first; transformers, lightning and accelerate are each its way into one trainer. This file imports none
of them.
"""
