"""In the Spark sources every attribute that is used is one that is there.

Their classes inherit from pyspark's, which the type checker takes for anything, so that it lets every name pass: one
that was renamed in all places but one came to light in a query.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SPARK = Path(__file__).parents[2] / "src" / "leaselog" / "spark"


def _own(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The private attributes of ``self`` that are read, or set, in it."""
    return {
        found.attr
        for found in ast.walk(node)
        if isinstance(found, ast.Attribute)
        and isinstance(found.value, ast.Name)
        and found.value.id == "self"
        and found.attr.startswith("_")
        and not found.attr.startswith("__")
        and isinstance(found.ctx, context)
    }


def _defined(tree: ast.Module) -> set[str]:
    names = _own(tree, ast.Store)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("path", sorted(SPARK.glob("*.py")), ids=lambda path: path.name)
def test_what_is_used_of_itself_is_defined(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert _own(tree, ast.Load) <= _defined(tree)
