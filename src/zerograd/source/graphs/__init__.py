"""Which values have a graph, and what it goes through.

living.py: which surely have one. cut.py with makers.py: which surely have none any more. ancestry.py: what a graph
goes through. differentiated.py: whether anybody goes through it again. The others answer one question each.
"""
