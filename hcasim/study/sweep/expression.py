"""Arithmetic in words of a study, such as `64 * qps` or `qps <= adapter.sqpc.entries`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import UNITS

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MOST_DIGITS = 30
"""Of a number that is rounded: more could take for ever."""


def _rounded(number: Any, digits: int = 0) -> Any:
    if not -_MOST_DIGITS <= digits <= _MOST_DIGITS:
        raise OverflowError(f"round takes {-_MOST_DIGITS} to {_MOST_DIGITS} digits")
    return round(number, digits) if digits else round(number)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": _rounded,
    "sqrt": math.sqrt,
}
_UNITS = {
    name: factor for unit in UNITS.values() for name, factor in unit.factors if name.isalpha()
}
_LARGEST = 10**30
"""Numbers beyond are no setting, and may take for ever to work out."""
_LONGEST = 1000
"""Characters of an expression."""
_DEEPEST = 100
"""Operations inside one another."""
_ALLOWED = (
    "numbers, names of settings, units such as us and KiB, + - * / // % **, comparisons, "
    f"and, or, not, if ... else, and {one_of(list(_FUNCTIONS))}"
)


class ExpressionError(ValueError):
    """An expression that cannot be read or worked out; says why."""


@dataclass(frozen=True)
class Expression:
    """An expression that was read.

    Parameters:
        text: as it was written.
        names: of settings that it depends on, such as "qps" and "adapter.sqpc.entries".
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    def value(self, settings: Mapping[str, Any]) -> Any:
        """Work it out.

        Parameters:
            settings: the value of each of `names`.

        Raises:
            ExpressionError: it has no value there.
        """
        try:
            found = _value(self._tree, settings)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise ExpressionError(f"found {self.text!r}, which has no value: {error}") from None
        if isinstance(found, float) and not math.isfinite(found):
            raise ExpressionError(f"found {self.text!r}, which is no finite number")
        return int(found) if isinstance(found, float) and found.is_integer() else found


def read_expression(text: str) -> Expression:
    """Read an expression.

    Parameters:
        text: such as "64 * qps". Sizes are in bytes, times in picoseconds: "2 * us" is a time.

    Raises:
        ExpressionError: it is none.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"found {len(text)} characters; allowed: at most {_LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(
            f"found {text!r}, which is no expression; allowed: {_ALLOWED}"
        ) from None
    if _is_deeper(tree, _DEEPEST):
        found = f"found more than {_DEEPEST} operations inside one another"
        raise ExpressionError(f"{found}; allowed: {_DEEPEST}")
    names: dict[str, None] = {}
    _check(tree, text, names)
    return Expression(text, tuple(names), tree)


def _is_deeper(tree: ast.AST, most: int) -> bool:
    level = [tree]
    for _ in range(most):
        level = [inner for one in level for inner in ast.iter_child_nodes(one)]
    return bool(level)


def _check(node: ast.expr, text: str, names: dict[str, None]) -> None:
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return
        case ast.Name() | ast.Attribute():
            name = _name(node)
            if name is None:
                raise ExpressionError(_refused(node, text))
            if name not in _UNITS:
                names[name] = None
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            inner = [left, right]
        case ast.UnaryOp(operand=operand, op=ast.USub() | ast.UAdd() | ast.Not()):
            inner = [operand]
        case ast.BoolOp(values=values):
            inner = values
        case ast.Compare(left=left, ops=ops, comparators=others) if {*map(type, ops)} <= {
            *_COMPARE
        }:
            inner = [left, *others]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            inner = [test, body, orelse]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in _FUNCTIONS:
                hint = nearest(name, _FUNCTIONS)
                allowed = one_of(list(_FUNCTIONS))
                raise ExpressionError(f"found {name}() in {text!r}; allowed: {allowed}{hint}")
            inner = args
        case _:
            raise ExpressionError(_refused(node, text))
    for one in inner:
        _check(one, text, names)


def _refused(node: ast.expr, text: str) -> str:
    part = ast.unparse(node)
    where = "" if part == text.strip() else f" in {text!r}"
    return f"found {part!r}{where}; allowed: {_ALLOWED}"


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _name(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None


def _value(node: ast.expr, settings: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name() | ast.Attribute():
            name = _name(node) or ""
            return settings[name] if name in settings else _UNITS[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _bounded(_BINARY[type(op)], _value(left, settings), _value(right, settings))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, settings)
        case ast.UnaryOp(op=op, operand=operand):
            found = _value(operand, settings)
            return -found if isinstance(op, ast.USub) else +found
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(one, settings) for one in values)
        case ast.BoolOp(values=values):
            return any(_value(one, settings) for one in values)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(one, settings) for one in (left, *others)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return all(_COMPARE[type(op)](one, other) for op, one, other in pairs)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, settings) else orelse, settings)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(one, settings) for one in args))
    raise AssertionError(node)


def _bounded(operate: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    for side in (one, other):
        if isinstance(side, str):
            raise TypeError(f"{side!r} is a word")
        if abs(side) > _LARGEST:
            raise OverflowError("a number is too large")
    if operate is operator.pow and abs(other) > 100:
        raise OverflowError("an exponent is too large")
    found = operate(one, other)
    if isinstance(found, complex):
        raise ArithmeticError("a root of a number below 0")
    return found
