"""Which values have a graph, and what it goes through.

living.py: which surely have one. ancestry.py: what a graph goes through. differentiated.py: whether anybody goes
through it again. The others answer one question each.
"""
