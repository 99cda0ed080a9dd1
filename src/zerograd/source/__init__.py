"""Front end 1: text to events. Reads Python with `ast`, never runs it, needs no torch.

Read in this order: skeleton, bindings, calls, lower, program, flow, check; then the detectors: accumulation, idioms.
"""
