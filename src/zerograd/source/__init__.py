"""Front end 1: text to events. Reads Python with `ast`, never runs it, needs no torch.

The spine: sweep.py goes through many files, check.py through one. Below them, from the text up, each folder importing
only what stands before it:

    text      a file's words, lines and syntax tree
    files     which files are read, and what stands beside them
    names     what a name is bound to: an optimizer, a scaler, a schedule, a function of this project
    counting  counters and tests: `if (i + 1) % N == 0:`
    lowering  a function becomes a skeleton: events, jumps, calls; nothing else of Python is left
    values    for the detectors: which assignment made a value, who hands it in, who sees it
    graphs    for the detectors: which values have a graph, and what it goes through

What check.py's MOVED does not leave to the abstract run (abstract.py), detectors find, listed in idioms.py (one
function) and wholes.py (one file):

    memory    graphs that are kept for nothing

fixes/ cures findings; notebooks/ makes programs of cells.
"""
