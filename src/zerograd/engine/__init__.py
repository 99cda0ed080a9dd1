"""Front end 3: the optimizer step as a transaction in which gradient bugs cannot be written.

Read in this order: step, block, commit, weighing, ready, clipping, scaling. Then what stands around it: joining,
splitting, minimizing, carrying, restoring, resuming, interrupts. Then what keeps it honest: guarding, wrapping,
isolation, hooks, leaves, living, refusals.
"""
