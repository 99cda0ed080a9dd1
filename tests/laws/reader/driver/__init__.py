"""Makes a case program run: small real objects for what it asks of others, and a record of what the run did to
gradients.

Read `standins.py` (tensors, networks and batches that fit wherever they are put), `roles.py` (which of them a name or
a use asks for), `missing.py` (modules that are not installed), `taming.py` (torch without a GPU, ranks or files),
`probe.py` (what is written down), `roots.py` (the functions that nobody calls) and `driving.py`, which does it all,
one process a program.

This is a harness and not a reader: it may go by the words that people use for things.
"""
