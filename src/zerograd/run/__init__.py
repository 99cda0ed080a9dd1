"""Front end 2: a live run to events. Watches torch, attaches nothing to the user's tensors, changes no number.

Read in this order: sites, slots, books, values, proof, handwork, account, sureness, stepping, watcher, hooks, audit.
"""
