"""Front end 1: source as an abstract run. Reads Python with `ast`, never runs it, needs no torch.

The program is executed over abstract objects. What it does to gradients comes out as the events that run/ emits, and
the rules judge both alike. The spine is check.py: open, execute every root, judge, ask, report. sweep.py goes through
many files, relevance.py says which of them may train.

From the text up, each folder importing only what stands before it:

    text       a file's lines, syntax tree and comments
    files      which files are read, and which were read before
    project    which definition a name means, across files
    effects    what torch and its neighbours do: tables
    heap       objects, values, regions of parameters
    execute    statements, branches, loops and calls; events
    questions  what one state and one event cannot show: the answers of core/world.py
    acts       what a file does to gradients, and where
    fixes      edits that cure a finding
    notebooks  programs of cells
"""
