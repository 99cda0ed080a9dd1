"""A file's lines and syntax tree, and the comments that are addressed to us.

Read in this order: lines, parsing, python2, nodes, paths, imports; addressed and suppression read the comments.
"""
