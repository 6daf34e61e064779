"""Arithmetic in words of a study, such as `64 * qps` or `qps <= adapter.sqpc.entries`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

from hcasim.ground.errors import one_of
from hcasim.ground.units import UNITS

_LARGEST = 10**30
"""Numbers beyond are no setting, and may take for ever to work out."""
_LONGEST = 1000
"""Characters of an expression."""


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


_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    **{
        one: _bounded(DEFAULT_OPERATORS[one])
        for one in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
    },
    ast.Pow: _bounded(operator.pow),
    **{
        one: DEFAULT_OPERATORS[one]
        for one in (
            *(ast.USub, ast.UAdd, ast.Not),
            *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
        )
    },
}
_NODES = (
    *(*_OPERATORS, ast.And, ast.Or),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp),
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    # To a whole number: digits without end could take for ever.
    "round": lambda number: round(number),
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
        """Work it out with the value of each of `names`.

        Raises:
            ExpressionError: it has no value there.
        """
        names = {**_UNITS, **settings}
        worker = SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=names)
        worker.nodes[ast.Attribute] = lambda node: names[ast.unparse(node)]
        try:
            found = worker.eval(self.text, self._tree)
        except (ArithmeticError, ValueError, TypeError, RecursionError, InvalidExpression) as error:
            raise ExpressionError(f"found {self.text!r}, which has no value: {error}") from None
        if isinstance(found, float) and not math.isfinite(found):
            raise ExpressionError(f"found {self.text!r}, which is no finite number")
        return int(found) if isinstance(found, float) and found.is_integer() else found


def read_expression(text: str) -> Expression:
    """Read an expression such as "64 * qps"; sizes are in bytes, times in picoseconds.

    Raises:
        ExpressionError: it is none.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"found {len(text)} characters; allowed: at most {_LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names = dict.fromkeys(_names(tree, text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ExpressionError):
            raise
        found = f"found {text!r}, which is no expression"
        raise ExpressionError(f"{found}; allowed: {_ALLOWED}") from None
    return Expression(text, tuple(names), tree)


def _names(tree: ast.expr, text: str) -> Iterator[str]:
    """Yield the names of settings; refuse what is no arithmetic."""
    left: list[ast.AST] = [tree]
    while left:
        match node := left.pop():
            case ast.Constant(value=bool() | int() | float() | str()):
                pass
            case ast.Name() | ast.Attribute() if ast.unparse(node).replace(".", "").isidentifier():
                if (name := ast.unparse(node)) not in _UNITS:
                    yield name
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in _FUNCTIONS:
                left += parts[::-1]
            case _ if isinstance(node, _NODES):
                left += [*ast.iter_child_nodes(node)][::-1]
            case _:
                raise ExpressionError(
                    f"found {ast.unparse(node) or text!r} in {text!r}; allowed: {_ALLOWED}"
                )
