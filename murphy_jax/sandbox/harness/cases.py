"""The failing case: a test's assertions, compiled so that both sides survive a failure.

An assertion about one comparison, `assert L == R`, is compiled as

    @check = 3; @left = L; @right = R; assert @left == @right

in names that no source can spell. Each side is evaluated once and in order, nothing is looked up by name that the
program could replace, and a failure is still the interpreter's own AssertionError. The values are then read from the
frame that it left in its traceback, so an assertion that holds costs two assignments. `assert A and B` becomes two
assertions.

Not done: chained comparisons and `or` keep their meaning but show no values; an argument that the program changed is
shown as it was left.
"""

import ast
import copy
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType

from . import texts

TEST = "<test>"
CANDIDATE = "candidate"
MAX_CASE = 400
MAX_ARGUMENT = 200

CHECK, LEFT, RIGHT = "@check", "@left", "@right"
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "",
    ast.NotEq: "!= ",
    ast.Lt: "< ",
    ast.LtE: "<= ",
    ast.Gt: "> ",
    ast.GtE: ">= ",
    ast.Is: "",
    ast.IsNot: "is not ",
    ast.In: "in ",
    ast.NotIn: "not in ",
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_CLOSE = ("isclose", "allclose")
_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)


@dataclass(frozen=True)
class Check:
    """One assertion of a test.

    Attributes:
        subject: the expression under test.
        subject_name: the name in the failing frame that holds the subject's value, empty where none does.
        wanted_name: likewise for what it was compared with.
        wanted: what stands before the wanted value (`> `), or the wanted text itself where `wanted_name` is empty.
    """

    subject: ast.expr
    subject_name: str = ""
    wanted_name: str = ""
    wanted: str = ""


@dataclass(frozen=True)
class Test:
    """A compiled test.

    Attributes:
        code: what to execute in the program's namespace.
        checks: its assertions, as numbered by `@check`.
        calls: the calls under test.
        entry_point: the function under test, which the test may also call `candidate`.
    """

    code: CodeType
    checks: tuple[Check, ...]
    calls: tuple[ast.Call, ...]
    entry_point: str


def prepare(source: str, entry_point: str) -> Test:
    """Compile a test.

    Raises:
        SyntaxError, ValueError: the test itself is no valid source.
    """
    tree = ast.parse(source, TEST)
    calls = _calls_under_test(tree, entry_point)
    rewriter = _Rewriter(calls)
    code = compile(ast.fix_missing_locations(rewriter.visit(tree)), TEST, "exec", dont_inherit=True)
    return Test(code, tuple(rewriter.checks), tuple(calls), entry_point)


def describe(source: str, entry_point: str) -> str:
    """The case of a test that left no frame: its call under test where there is just one, else the whole statement."""
    try:
        calls = _calls_under_test(ast.parse(source, TEST), entry_point)
    except (SyntaxError, ValueError):
        calls = []
    text = _render(calls[0], entry_point, None) if len(calls) == 1 else source.strip()
    return texts.shorten(text, MAX_CASE)


def explain(error: BaseException, test: Test) -> tuple[str, str, str]:
    """The case, what it wanted and what it got, from what the failing frames hold; empty where unknown."""
    frames = [step for step in texts.steps(error.__traceback__) if texts.filename(step) == TEST]
    if not frames:
        return "", "", ""
    if is_failed_assertion(error):
        check = _failed_check(frames[-1].tb_frame, test)
        if check is not None:
            values = frames[-1].tb_frame.f_locals
            got = texts.show(values[check.subject_name]) if check.subject_name else ""
            wanted = check.wanted + (texts.show(values[check.wanted_name]) if check.wanted_name else "")
            return _case(frames, test, check), wanted, got
    return _case(frames, test, None), "", ""


def is_failed_assertion(error: BaseException) -> bool:
    """Whether an assertion of the test failed, not one inside the program."""
    names = [texts.filename(step) for step in texts.steps(error.__traceback__)]
    ours = [name for name in names if name in (TEST, texts.SOLUTION)]
    return isinstance(error, AssertionError) and bool(ours) and ours[-1] == TEST


def _failed_check(frame: FrameType, test: Test) -> Check | None:
    number = frame.f_locals.get(CHECK)
    if type(number) is not int or not 0 <= number < len(test.checks):
        return None
    return test.checks[number]


def _case(frames: list[TracebackType], test: Test, check: Check | None) -> str:
    """The source of the call under test, looked for from the innermost frame outwards."""
    innermost = frames[-1].tb_frame
    if check is not None and any(call in test.calls for call in ast.walk(check.subject)):
        return _render(check.subject, test.entry_point, innermost)
    for step in reversed(frames):
        call = _running_call(step, test.calls)
        if call is not None:
            return _render(call, test.entry_point, step.tb_frame)
    return _render(check.subject, test.entry_point, innermost) if check is not None else ""


def _running_call(step: TracebackType, calls: tuple[ast.Call, ...]) -> ast.Call | None:
    """The call under test that a frame was executing."""
    positions = list(step.tb_frame.f_code.co_positions())
    line, _, column, _ = positions[step.tb_lasti // 2]
    exact = (call for call in calls if (call.lineno, call.col_offset) == (line, column))
    around = (call for call in calls if call.lineno <= (step.tb_lineno or 0) <= (call.end_lineno or 0))
    return next(exact, None) or next(around, None)


def _render(expression: ast.expr, entry_point: str, frame: FrameType | None) -> str:
    """An expression as source, with the values of plain variables where they are arguments of the call under test."""
    named = _Renderer(entry_point, frame).visit(copy.deepcopy(expression))
    return texts.shorten(ast.unparse(named), MAX_CASE)


def _calls_under_test(tree: ast.AST, entry_point: str) -> list[ast.Call]:
    """Outermost calls of the entry point or of `candidate`, also through attributes: `Solution().solve(x)`."""
    if isinstance(tree, ast.Call) and _root(tree) in (CANDIDATE, entry_point):
        return [tree]
    return [call for node in ast.iter_child_nodes(tree) for call in _calls_under_test(node, entry_point)]


def _root(node: ast.expr) -> str:
    """The name that a chain of calls and attributes starts from."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


class _Rewriter(ast.NodeTransformer):
    """Replaces every assertion of a test, and numbers them."""

    def __init__(self, calls: list[ast.Call]) -> None:
        self.checks: list[Check] = []
        self._calls = {id(call) for call in calls}

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            parts = [ast.copy_location(ast.Assert(part, node.msg), node) for part in node.test.values]
            return [statement for part in parts for statement in self.visit_Assert(part)]
        statements, test, check = self._split(node.test)
        number = ast.copy_location(_assign(CHECK, ast.Constant(len(self.checks))), node)
        self.checks.append(check)
        return [number, *statements, ast.copy_location(ast.Assert(test, node.msg), node)]

    def _split(self, test: ast.expr) -> tuple[list[ast.stmt], ast.expr, Check]:
        """Assignments to evaluate first, what to assert then, and where a failure finds its values."""
        match test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]) as call,
                ops=[ast.Lt() | ast.LtE()],
            ):
                call.args = [ast.BinOp(_load(LEFT), ast.Sub(), _load(RIGHT))]
                return self._pair(left, right, test, "", "")
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[left, right, *rest]) if (
                name in _CLOSE
            ):
                test.args = [_load(LEFT), _load(RIGHT), *rest]
                return self._pair(left, right, test, "", "")
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                test = ast.copy_location(ast.Compare(_load(LEFT), [operator], [_load(RIGHT)]), test)
                mirrored = _MIRRORED.get(type(operator), type(operator))
                return self._pair(left, right, test, _OPERATORS[type(operator)], _OPERATORS[mirrored])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                negated = ast.copy_location(ast.UnaryOp(ast.Not(), _load(LEFT)), test)
                return [_assign(LEFT, operand)], negated, Check(operand, LEFT, wanted="False")
            case _:
                return [_assign(LEFT, test)], _load(LEFT), Check(test, LEFT, wanted="True")

    def _pair(
        self, left: ast.expr, right: ast.expr, test: ast.expr, relation: str, mirrored: str
    ) -> tuple[list[ast.stmt], ast.expr, Check]:
        """Two values that are compared; the one with a call under test is the subject, else the left one."""
        swap = self._calls_something(right) and not self._calls_something(left)
        check = Check(right, RIGHT, LEFT, mirrored) if swap else Check(left, LEFT, RIGHT, relation)
        return [_assign(LEFT, left), _assign(RIGHT, right)], test, check

    def _calls_something(self, node: ast.expr) -> bool:
        return any(id(inner) in self._calls for inner in ast.walk(node))


class _Renderer(ast.NodeTransformer):
    """Names the function under test by its entry point, and its plain arguments by their values."""

    def __init__(self, entry_point: str, frame: FrameType | None) -> None:
        self._entry_point = entry_point
        self._names = {} if frame is None else {**frame.f_globals, **frame.f_locals}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._entry_point or node.id) if node.id == CANDIDATE else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _root(node) in (CANDIDATE, self._entry_point):
            node.args = [shown for argument in node.args for shown in self._arguments(argument)]
            for keyword in node.keywords:
                keyword.value = self._value(keyword.value)
        return self.generic_visit(node)

    def _arguments(self, argument: ast.expr) -> list[ast.expr]:
        """One argument, or the several that `*name` stands for."""
        if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
            value = self._names.get(argument.value.id)
            if isinstance(value, list | tuple):
                return [ast.Name(texts.show(item, MAX_ARGUMENT)) for item in value]
        return [self._value(argument)]

    def _value(self, argument: ast.expr) -> ast.expr:
        if isinstance(argument, ast.Name) and type(self._names.get(argument.id)) in _PLAIN:
            return ast.Name(texts.show(self._names[argument.id], MAX_ARGUMENT))
        return argument


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
