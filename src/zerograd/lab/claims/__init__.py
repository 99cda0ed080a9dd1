"""One file per claim; its number is its row in the docs."""
