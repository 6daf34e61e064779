"""Arithmetic in words of a study, such as `64 * qps` or `qps <= adapter.sqpc.entries`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import UNITS

_LARGEST = 10**30
"""Numbers beyond are no setting, and may take for ever to work out."""
_MOST_DIGITS = 30
"""Of a number that is rounded: more could take for ever."""
_LONGEST = 1000
"""Characters of an expression."""
_DEEPEST = 100
"""Operations inside one another."""


def _bounded(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def bounded(one: Any, other: Any) -> Any:
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

    return bounded


def _rounded(number: Any, digits: int = 0) -> Any:
    if not -_MOST_DIGITS <= digits <= _MOST_DIGITS:
        raise OverflowError(f"round takes {-_MOST_DIGITS} to {_MOST_DIGITS} digits")
    return round(number, digits) if digits else round(number)


_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _bounded(operator.truediv),
    ast.FloorDiv: _bounded(operator.floordiv),
    ast.Mod: _bounded(operator.mod),
    ast.Pow: _bounded(operator.pow),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_KNOWN = (*_OPERATORS, ast.And, ast.Or)
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
        names = {**_UNITS, **settings}
        worker = SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=names)
        worker.nodes[ast.Attribute] = lambda node: names[ast.unparse(node)]
        try:
            found = worker.eval(self.text, self._tree)
        except (ArithmeticError, ValueError, TypeError, InvalidExpression) as error:
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
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in ast.iter_child_nodes(one)]
    if level:
        found = f"found more than {_DEEPEST} operations inside one another"
        raise ExpressionError(f"{found}; allowed: {_DEEPEST}")
    names: dict[str, None] = {}
    _check(tree, text, names)
    return Expression(text, tuple(names), tree)


def _check(node: ast.expr, text: str, names: dict[str, None]) -> None:
    """Refuse what is no arithmetic, and note the names of settings."""
    parts: Sequence[ast.AST] = [*ast.iter_child_nodes(node)]
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return
        case ast.Name() | ast.Attribute() if all(map(str.isidentifier, _words(node))):
            if (name := ast.unparse(node)) not in _UNITS:
                names[name] = None
            return
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            if name not in _FUNCTIONS:
                allowed, hint = one_of(list(_FUNCTIONS)), nearest(name, _FUNCTIONS)
                raise ExpressionError(f"found {name}() in {text!r}; allowed: {allowed}{hint}")
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp() if all(
            isinstance(one, ast.expr) or type(one) in _KNOWN for one in parts
        ):
            pass
        case _:
            part = ast.unparse(node)
            where = "" if part == text.strip() else f" in {text!r}"
            raise ExpressionError(f"found {part!r}{where}; allowed: {_ALLOWED}")
    for one in parts:
        if isinstance(one, ast.expr):
            _check(one, text, names)


def _words(node: ast.expr) -> list[str]:
    return ast.unparse(node).split(".")
