"""Findings in an editor, as one types: a server of the Language Server Protocol. Needs pygls, and no torch.

Read in this order: documents (what the editor has open), judging (what is found in it), service (who asks for what);
then what is answered: diagnostics, hovers, actions.
"""
