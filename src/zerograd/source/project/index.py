"""One walk over a file: its functions and classes, what each names, and where its imports lead to."""

import ast
from typing import NamedTuple, cast

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_JUMPS = frozenset({ast.Continue, ast.Break, ast.Return, ast.Raise})
_COMPOUND = frozenset({ast.If, ast.Try, ast.With, ast.AsyncWith, ast.Match})
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
_YIELDS = frozenset({ast.Yield, ast.YieldFrom})
_TOKENS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
# Nothing of interest stands below these.
_LEAVES = frozenset([one for base in _TOKENS for one in base.__subclasses__()]) | {
    *(ast.Constant, ast.Name, ast.Global, ast.Nonlocal, ast.Pass),
    *(str, int, type(None)),
}


class Function:
    """A function of the project, nested ones and lambdas included."""

    __slots__ = (
        "_names",
        "_sets",
        "attributes",
        "called",
        "captures",
        "cls",
        "file",
        "forwards",
        "generates",
        "keywords",
        "node",
        "outer",
    )

    def __init__(self, node: FunctionNode, file: "File", cls: "Class | None", outer: "Function | None") -> None:
        self.node = node
        self.file = file
        self.cls = cls  # of a method: the class it stands in
        self.outer = outer
        self.attributes: set[str] = set()  # named in it, what is nested in it included
        self.called: set[str] = set()  # by the last part of the name that is called
        self.keywords: set[str] = set()  # by which something is handed over in it
        self.captures = False  # another function stands in it, which may outlive a call
        self.generates = False
        self.forwards = _only_calls(node)  # it does nothing but call something else
        self._names: list[str] | None = None
        self._sets: set[str] | None = None

    @property
    def names(self) -> list[str]:
        """The names that stand in it, in order."""
        if self._names is None:
            self._names = sorted({node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)})
        return self._names

    @property
    def sets(self) -> set[str]:
        """The attributes that it sets."""
        if self._sets is None:
            parts = ast.walk(self.node)
            self._sets = {
                node.attr for node in parts if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            }
        return self._sets

    @property
    def name(self) -> str:
        return self.node.name if not isinstance(self.node, ast.Lambda) else "<lambda>"

    @property
    def decorators(self) -> list[ast.expr]:
        return [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list


class Class:
    """A class of the project, as it is written; `classes` puts it together with its bases."""

    __slots__ = ("attributes", "file", "methods", "node", "outer", "setters")

    def __init__(self, node: ast.ClassDef, file: "File", outer: Function | None) -> None:
        self.node = node
        self.file = file
        self.outer = outer
        self.methods: dict[str, Function] = {}
        self.setters: dict[str, Function] = {}
        self.attributes: dict[str, ast.expr] = {}


class Loop(NamedTuple):
    """What stands in a loop."""

    breaks: bool  # somewhere, be it out of a loop within
    used: frozenset[str]  # the names in its body, but for what is only compared


class Imported(NamedTuple):
    """`from module import name`; of `import module`, the name is empty."""

    module: str  # with its leading dots
    name: str


class Assigned(NamedTuple):
    """A name that a file binds to an expression."""

    file: "File"
    name: str
    value: ast.expr


Entry = Function | Class | Imported | Assigned


class File:
    """A parsed file with its index. Definitions are those of its top level, in branches and handlers too."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path = path
        self.text = text
        self.tree = tree
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.function_of: dict[ast.AST, Function] = {}
        self.class_of: dict[ast.AST, Class] = {}
        self.jumping: set[ast.AST] = set()  # the compound statements that hold a jump
        self._loops: dict[ast.AST, Loop] = {}
        self._set_outside: dict[Class, set[str]] = {}
        self.chains: dict[ast.AST, ast.If] = {}  # of an elif: the first `if` of its chain
        self.light: list[ast.stmt] | None = None  # what is executed of it before a function, once it was asked
        self.guarded: dict[ast.expr, bool] = {}  # operands of `and` and `or`: whether they may do something
        self.comprehensions: dict[ast.expr, ast.For] = {}  # the for-loops that comprehensions are, once it was asked
        self.iterations: dict[ast.While, ast.For | None] = {}  # the for-loops that while-loops are, once it was asked
        self.attributes: set[str] = set()
        self.called: set[str] = set()
        self.definitions: dict[str, Entry] = {}
        self.stars: list[str] = []  # the modules of which everything is imported
        self._walk(tree, (), None, [])
        self._collect(tree.body)

    def loop(self, node: ast.AST) -> "Loop":
        known = self._loops.get(node)
        if known is None:
            body = [part for statement in getattr(node, "body", ()) for part in ast.walk(statement)]
            compared = {
                id(one) for part in body if isinstance(part, ast.Compare) for one in (part.left, *part.comparators)
            }
            used = frozenset([part.id for part in body if isinstance(part, ast.Name) and id(part) not in compared])
            breaks = any(isinstance(part, ast.Break) for part in ast.walk(node))
            known = self._loops[node] = Loop(breaks, used)
        return known

    def set_outside(self, cls: Class) -> set[str]:
        """The attributes that this file sets outside of a class."""
        known = self._set_outside.get(cls)
        if known is None:
            inside = set(ast.walk(cls.node))
            known = self._set_outside[cls] = {
                node.attr
                for node in ast.walk(self.tree)
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node not in inside
            }
        return known

    def acting(self, names: frozenset[str], elsewhere: set[str]) -> set[Function]:
        """The functions that name one of these, or call one that does: of this file, or one of those `elsewhere`."""
        found = {
            one
            for one in self.functions
            if not names.isdisjoint(one.attributes)
            or not names.isdisjoint(one.called)
            or not elsewhere.isdisjoint(one.called)
        }
        called = {one.name for one in found}
        while True:
            more = {one for one in self.functions if one not in found and not called.isdisjoint(one.called)}
            if not more:
                return found
            found |= more
            called = {one.name for one in more}

    def _walk(self, node: ast.AST, inside: tuple[Function, ...], cls: Class | None, above: list[ast.AST]) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                for child in value:
                    if type(child) not in _LEAVES:
                        self._visit(child, inside, cls, above)
            elif isinstance(value, ast.AST) and type(value) not in _LEAVES:
                self._visit(value, inside, cls, above)

    def _visit(self, child: ast.AST, inside: tuple[Function, ...], cls: Class | None, above: list[ast.AST]) -> None:
        kind = type(child)
        if kind in _FUNCTIONS:
            self._enter_function(cast(FunctionNode, child), inside, cls)
            return
        if kind is ast.ClassDef:
            self._enter_class(cast(ast.ClassDef, child), inside, above)
            return
        if kind is ast.Attribute:
            name = cast(ast.Attribute, child).attr
            self.attributes.add(name)
            for function in inside:
                function.attributes.add(name)
        elif kind is ast.Call:
            self._note_call(cast(ast.Call, child), inside)
        elif kind in _YIELDS and inside:
            inside[-1].generates = True
        elif kind in _JUMPS:
            self.jumping.update(above)
        if kind not in _COMPOUND:
            self._walk(child, inside, None, above)
            return
        if isinstance(child, ast.If) and len(child.orelse) == 1 and isinstance(child.orelse[0], ast.If):
            self.chains[child.orelse[0]] = self.chains.get(child, child)
        above.append(child)
        self._walk(child, inside, None, above)
        above.pop()

    def _enter_function(self, node: FunctionNode, inside: tuple[Function, ...], cls: Class | None) -> None:
        function = Function(node, self, cls, inside[-1] if inside else None)
        for outer in inside:
            outer.captures = True
        self.functions.append(function)
        self.function_of[node] = function
        if cls is not None and not isinstance(node, ast.Lambda):
            kept = cls.setters if any(_is_setter(one) for one in node.decorator_list) else cls.methods
            kept[node.name] = function
        self._walk(node, (*inside, function), None, [])

    def _enter_class(self, node: ast.ClassDef, inside: tuple[Function, ...], above: list[ast.AST]) -> None:
        cls = Class(node, self, inside[-1] if inside else None)
        self.classes.append(cls)
        self.class_of[node] = cls
        for statement in node.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    cls.attributes[target.id] = statement.value
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                cls.attributes[statement.target.id] = statement.value
        self._walk(node, inside, cls, above)

    def _note_call(self, call: ast.Call, inside: tuple[Function, ...]) -> None:
        name = last_name(call.func)
        if name:
            self.called.add(name)
            for function in inside:
                function.called.add(name)
                function.keywords.update(keyword.arg for keyword in call.keywords if keyword.arg)

    def _collect(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.definitions[statement.name] = self.function_of[statement]
            elif isinstance(statement, ast.ClassDef):
                self.definitions[statement.name] = self.class_of[statement]
            elif isinstance(statement, ast.Import):
                for name in statement.names:
                    head = name.name.partition(".")[0]
                    self.definitions[name.asname or head] = Imported(name.name if name.asname else head, "")
            elif isinstance(statement, ast.ImportFrom):
                self._collect_from(statement)
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    self.definitions.setdefault(target.id, Assigned(self, target.id, statement.value))
            elif isinstance(statement, (ast.If, ast.Try)):
                self._collect(statement.body)
                for handler in getattr(statement, "handlers", ()):
                    self._collect(handler.body)
                self._collect(statement.orelse)

    def _collect_from(self, statement: ast.ImportFrom) -> None:
        module = "." * statement.level + (statement.module or "")
        for name in statement.names:
            if name.name == "*":
                self.stars.append(module)
            else:
                self.definitions[name.asname or name.name] = Imported(module, name.name)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, or of the name that is called."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` as it is written, or nothing for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _only_calls(node: FunctionNode) -> bool:
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Call)
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if body and isinstance(body[-1], ast.For) and isinstance(body[-1].iter, ast.List) and len(body[-1].iter.elts) == 1:
        body[-1:] = body[-1].body  # a loop that runs once is none
    only = body[-1] if body and all(_only_names(one) for one in body[:-1]) else None
    return isinstance(only, (ast.Expr, ast.Return)) and isinstance(only.value, ast.Call)


def _only_names(statement: ast.stmt) -> bool:
    """`method = self.optimizer.step`: another name for something, or a place where it is kept."""
    if isinstance(statement, ast.FunctionDef):
        return not statement.decorator_list
    return isinstance(statement, ast.Assign) and not any(
        isinstance(part, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(statement.value)
    )


def _is_setter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter")  # not a name: Python's
