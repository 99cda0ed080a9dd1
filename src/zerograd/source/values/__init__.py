"""Where values come from, and who sees them: what every detector builds on.

Read in this order: reading (one function, as detectors look at it), definitions, callers, sums, owned. The others
answer one question each, which their first lines ask.
"""
