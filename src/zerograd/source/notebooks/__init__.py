"""Notebooks: layout.py finds the cells in the JSON, magics.py makes Python of them, program.py joins them, judging.py
finds and fixes, rewriting.py puts new text into the JSON and leaves every other byte alone."""
