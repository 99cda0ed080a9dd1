"""Fixes: edits that cure a finding.

makers.py names a maker for each rule that has a mechanical cure. A maker proposes; offering.py applies what it proposes
to the text, reads the result, and offers only what cures the finding and brings no other. mending.py writes several at
once, ignoring.py comments that allow what is left. Nothing here is imported before a finding is there to be cured.
"""
