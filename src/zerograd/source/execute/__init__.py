"""The abstract run: statements over names, objects and facts; what they do to gradients comes out as events.

Read in this order: `paths` (one point of a run), `tables` (what is learned for the next pass), `execution` (the state
of the machine), `statements`, `branches`, `loops` with `counters`, `expressions`, `calls` with `attributes` and
`containers`, `acts` (a row of the tables is carried out), `gradients` (events, and who is judged), `updates` (steps
that are taken by hand) with `lost_updates`, `unfilled` (gradients that are used where there is none), `iterators` (what
can be read once), `passing` (which graphs a backward goes through), `keeping` (what iterations leave behind), `roots`
(what is executed, and in which order). Knows nothing of rules: laws are handed in.
"""
