"""What rules ask that one state and one event cannot show, answered from what was executed.

`coverage`: does what is cleared cover what is stepped? `closures`: does a closure clear before it goes backward?
`windows`: how is each step fed?
`clears`: does every clear have something to clear?
`shared`: does who hands its gradient over get rid of it?
`untaught`: what looks as if it learned, and does not?
`wasted`: is every backward used? `retained`: which graphs does an iteration leave behind?
`world`: the questions of `core/world.py`.
"""
