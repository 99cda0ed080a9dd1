"""Front end 3: the optimizer step as a transaction in which gradient bugs cannot be written.

Read in this order: step, block, weighing, gradients, guarding, isolation, leaves, living, outcome.
"""
