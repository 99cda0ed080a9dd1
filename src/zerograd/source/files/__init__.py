"""Which files are read: discover, exclusion, gitignore, config; which of them were read before: cache.

beside.py looks into the files around one, for what it leaves to them.
"""
