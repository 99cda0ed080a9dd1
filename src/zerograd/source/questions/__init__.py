"""What rules ask that one state and one event cannot show, answered from what was executed.

`coverage`: does what is cleared cover what is stepped? `closures`: does a closure clear before it goes backward?
`windows`: how is each step fed?
`clears`: does every clear have something to clear?
`shared`: does who hands its gradient over get rid of it?
`idle`: does every term of a loss teach? `wasted`: is every backward used? `ungraded`: can an optimizer move all that it
was given? `handed`: does a framework get its loss? `retained`: which graphs does an iteration leave behind?
`world`: the questions of `core/world.py`.
"""
