"""What a name may stand for at one point of the abstract run. Knows nothing of rules.

Read in this order: `identity` (which values are the same), `objects`, `conditions` (what a test asks), `values`,
`answers` (how a path answered), `store` (names and fields, as a log of writes), `regions` (whose parameters).
"""
