"""A run that can be killed at any time and goes on where it was.

Read in this order: checkpoints (the spine), contents and naming (what is kept), folder (atomic, checksummed, the last
few), tensors and values (how it is written, and read without running code), cursor and chance (where in the data, where
in the random numbers), reshaping (other numbers of ranks), stopping (SIGTERM), refusals.
"""
