"""A run that can be killed at any time and goes on where it was.

Read in this order: checkpoints (the spine), together (ranks fail together), contents, naming and optimizers (what is
kept), alike (what is common to all ranks, what is each rank's own), values and tensors (how it is written, and read
without running code), folder and owner (atomic, checksummed, the last few), fitting, reshaping and loading (all of it
or nothing, on other numbers of ranks too), cursor and chance (where in the data, where in the random numbers), stopping
(SIGTERM), refusals.
"""
