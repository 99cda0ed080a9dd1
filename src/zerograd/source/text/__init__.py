"""A file's words, lines and syntax tree.

Read in this order: triggers (is the text worth parsing?), parsing, python2, nodes, paths. wording.py and stems.py say
what names mean where nothing else does; suppression.py reads the comments that are addressed to us.
"""
