"""Front end 2: a live run to events. Watches torch, attaches nothing to the user's tensors, changes no number.

Read in this order: statements, sites; slots, books, values, proof, handwork; account (one optimizer), accounts (all of
them); deposit (one backward), work, thread, stepping, routine, pace; sureness, single, judging (lifecycle rules);
detector, detectors and the idioms (leaks, groups, waste, owners, leaves, scaling, clipping, schedules, doubled,
syncing, replicas, retained, keepers, reductions, nones); watcher, surroundings, retelling, replays, hooks and audit.
"""
