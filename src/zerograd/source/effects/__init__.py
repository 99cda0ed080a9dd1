"""What torch and its neighbours do, by qualified name: tables, not code. Knows nothing of rules and of syntax.

Read in this order: `rows` (the vocabulary), `torch`, `frameworks` (Accelerate, Fabric, Lightning, apex, DeepSpeed,
timm), `python` (what the language and its library do), `lookup` (which row a name has), `protocols` (what a thing is,
told by what is done with it).
"""
