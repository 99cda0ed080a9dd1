"""A skeleton is walked with sets of facts, for one slot after the other, until loops add nothing new.

Read in this order: ways, frames, states (whether it is worth it), acting, flow, walks (with focus, for tangles). Then
windows (where we are in a group), objectives (whose loss it is), unfolding and templates (what is run in whose name),
verdicts and excuses (what is worth telling, and how surely).
"""
