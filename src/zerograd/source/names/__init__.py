"""What a name is bound to.

Read in this order: scopes, roles, bindings. relevance.py puts aside the functions that have nothing to do with
gradients; opaque.py and harmless.py say what a call may do that cannot be read.
"""
