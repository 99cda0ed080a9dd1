"""Many processes that take one step: who they are, how they agree, and how their gradients become one.

Read in this order: party (who), voting (what is said), exchange (when), pacing (how many micro-batches), reducing (the
one reduction), ddp and fsdp2 (how the wrappers are kept from exchanging gradients on their own), refusals.
"""
