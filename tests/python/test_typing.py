"""What type checkers read is in the installed package."""

import ast
from importlib.resources import files

import ramet
from ramet import _core


def test_the_package_says_that_it_has_types():
    assert files(ramet).joinpath("py.typed").is_file()


def test_the_stub_declares_what_the_extension_has():
    stub = ast.parse(files(ramet).joinpath("_core.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    values = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert declared | values >= {name for name in vars(_core) if not name.startswith("_")}


def names_of(part) -> list[str]:
    """What a line of a class declares: a method, or a value of an enum."""
    if isinstance(part, ast.FunctionDef):
        return [part.name]
    targets = part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
    return [target.id for target in targets]


def test_the_stub_declares_the_members_of_classes():
    stub = ast.parse(files(ramet).joinpath("_core.pyi").read_text())
    declared = {
        node.name: {name for part in node.body for name in names_of(part)}
        for node in stub.body
        if isinstance(node, ast.ClassDef)
    }
    for name in declared:
        assert declared[name] >= {member for member in vars(getattr(_core, name)) if not member.startswith("_")}, name
