"""Front end 3: the optimizer step as a transaction in which gradient bugs cannot be written.

Read in this order: step, opening, block, transaction, commit, weighing, ready, clipping, scaling. Then what stands
around it: joining, splitting, minimizing, carrying, restoring, resuming, copying. Then what keeps it honest:
interrupts, guarding, wrapping, isolation, hooks, leaves, living, refusals.
"""
