"""Front end 2: a live run to events. Watches torch, attaches nothing to the user's tensors, changes no number.

Read in this order: sites, account, watcher, hooks, audit.
"""
