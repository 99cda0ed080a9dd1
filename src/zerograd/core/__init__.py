"""The model: one gradient's life as events, states and one transition. No I/O, no ast, no torch.

Read in this order: events, machine, facts, judgement, ledger, findings, comments.
"""
