"""A function becomes a skeleton: events, jumps, calls; nothing else of Python is left.

Read in this order: skeleton, calls, expressions, lower, program, library. Then what calls.py asks for single calls:
callees, receivers, clips, scales, sharpness, tidying, moving; and lower.py for single statements: byhand, measuring,
parted, mapped, adjoining.
"""
