"""What measures a reader of source, whichever it is. None of it knows how a reader decides.

Read `corpus.py` (the programs), `readers.py` (what a reader is asked); then, one law each: `metamorphic.py` with
`rewrites/` (a rewrite that keeps the meaning keeps the findings), `oracle.py` with `driver/` (what a run sees lies
between what a reader is sure of and what it thinks possible), `agreement.py` (random programs, all their executions),
`words.py` and `trigger.py` (no word decides). `meaning.py` holds the rewrites themselves to the run. `__main__.py`
prints every figure: `make laws-reader`.
"""
