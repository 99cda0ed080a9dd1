"""Files, and which definition a name means. Knows nothing of torch and of rules.

Read in this order: `index` (one walk over a file), `files` (imports between files, callers of a function), `classes`
(methods and bases), `hints` (the only table of words a program may choose freely).
"""
