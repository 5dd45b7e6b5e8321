"""Pages and the site that is made of them: every public name has its entry, every public header its text, every page
its place. Links lead somewhere, the files that pages name exist, and sentences are short."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^\.\. (?:currentmodule|auto(?:class|function|exception|data)):: (\S+)", re.MULTILINE)
HEADERS = sorted(ROOT.glob("include/ramet/*.h"))


def module_of_the_site(name: str):
    specification = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def entries() -> list[str]:
    """The full names of all entries of the reference."""
    found, module = [], ""
    for page in sorted(ROOT.glob("docs/reference/*.md")):
        for name in ENTRY.findall(page.read_text(encoding="utf-8")):
            if name.startswith("ramet"):
                module = name
            else:
                found.append(f"{module}.{name}")
    return found


def public_names(folder: str) -> set[str]:
    """What `__all__` of a package lists, without importing it."""
    tree = ast.parse((ROOT / "python" / folder / "__init__.py").read_text(encoding="utf-8"))
    (names,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    return {f"{folder.replace('/', '.')}.{name}" for name in ast.literal_eval(names)}


def test_the_reference_has_every_public_name_once():
    found = entries()
    assert len(found) == len(set(found))
    public = public_names("ramet").union(
        *(public_names(f"ramet/{part}") for part in ("nn", "optim", "pyg", "distributed", "cuda", "costs"))
    )
    twice = {"ramet.evaluate", "ramet.costs.estimate"} | {
        f"ramet.distributed.{name}" for name in ("BatchNorm", "Dropout", "dropout")
    }  # a module; what another entry is, too
    assert public - twice == {name for name in found if not name.startswith("ramet.evaluate.")}


def test_every_page_is_in_the_index():
    listed = set(re.findall(r"^(?:\.\./)*([\w/]+)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE))
    assert {page.stem for page in ROOT.glob("docs/*.md")} - {"index"} <= listed
    reference = (ROOT / "docs" / "reference" / "index.md").read_text()
    assert {page.stem for page in ROOT.glob("docs/reference/*.md")} - {"index"} == set(
        re.findall(r"^(\w+)$", reference, re.MULTILINE)
    )


def test_pages_of_headers_leave_nothing_out():
    text = module_of_the_site("header_text")
    for header in HEADERS:
        source = header.read_text(encoding="utf-8")
        groups = list(text.groups(source))
        assert groups[0][0] and not groups[0][1], f"{header.name} says nothing about itself"
        shown = [line for comment, code in groups for line in [*comment, *code] if line]
        lines = [re.sub("^// ?", "", line) for line in source.splitlines()]
        assert [line.strip().removeprefix("// ") for line in shown] == [
            line.strip().removeprefix("// ")
            for line in lines
            if line and not re.match(r"#|namespace |}  // name", line)
        ]
        for name in re.findall(r"^(?:class|struct) (\w+) (?:: .*)?\{", source, re.MULTILINE):
            assert name in {found for _, code in groups for found in text.declared(code)}


def test_text_of_a_header():
    text = module_of_the_site("header_text")
    header = """// Rows.
// Threads: any.
#pragma once

namespace ramet {

// A row, of
// `size` bytes.
struct Row {
  int size = 0;

  int id() const;
};

constexpr int kRows = 3;  // at most
int first(const Row& row);
class Later;

}  // namespace ramet
"""
    about, row, functions = text.groups(header)
    assert text.paragraphs(about[0]) == ["Rows.", "Threads: any."]
    assert text.paragraphs(row[0]) == ["A row, of `size` bytes."]
    assert text.declared(row[1]) == ["Row"] and len(row[1]) == 5
    assert text.declared(functions[1]) == ["kRows", "first"]


def test_text_of_a_docstring():
    docstring = """Makes rows, **all** of
them: none is left.

    rows = make(3)

count, size: of `rows` and
    bytes (docs/format.md).
Options
    order="given": or *none*."""
    assert module_of_the_site("docstrings").to_rst(docstring.splitlines()) == [
        *("Makes rows, **all** of", "them: none is left.", "", ".. code-block:: python", "", "    rows = make(3)", ""),
        *("", "- ``count, size``: of ``rows`` and", "  bytes (:doc:`format </docs/format>`)."),
        *("", "**Options**", "", "", '- ``order="given"``: or \\*none\\*.', ""),
    ]


def test_the_program_of_the_cpp_page_is_the_example():
    page = (ROOT / "include" / "ramet" / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```cpp\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert program in (ROOT / "examples" / "embed.cc").read_text(encoding="utf-8")


# ---- links, files that pages name, and the length of sentences


FOLDERS = ("*.md", "docs/**/*.md", "include/ramet/*.md", "python/*.md", "src/*/*.md")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(folder))
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")
NAMED = re.compile(r"`((?:src|include|python|tests|tools|bench|examples|docs)/[\w./-]+)`")

# Sentences: nine in ten on a page have at most LONGEST words.
LONGEST = 27
RESULTS = ROOT / "docs" / "results"
NO_PROSE = re.compile(r"^#.*$|^ *\|.*$", re.MULTILINE)  # headings, tables
ITEM = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")  # between paragraphs, before items of lists
END = re.compile(r"(?<=[.!?])[\")*]* +(?=[\"(*]*[A-Z0-9])")
WORD = re.compile(r"\w[\w'./,-]*")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as renderers make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_exist(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    wrong = []
    for target, anchor in LINK.findall(text):
        if "://" in target:
            continue
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(target + anchor)
    wrong += [path for path in NAMED.findall(text) if not (ROOT / path).exists()]
    assert not wrong


def sentences(page: str) -> Iterator[list[str]]:
    """The words of each sentence. Inline code counts as one word, a link as its text."""
    text = re.sub(r"`[^`]+`", "Code", NO_PROSE.sub("\n", CODE.sub("\n", page)))
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    for item in ITEM.split(text):
        paragraph = re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(item.split()))
        yield from filter(None, map(WORD.findall, END.split(paragraph)))


def p90(page: str) -> int:
    """The words of the sentence that is longer than nine in ten."""
    lengths = sorted(map(len, sentences(page)))
    return lengths[len(lengths) * 9 // 10]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if RESULTS not in page.parents], ids=lambda page: str(page.relative_to(ROOT))
)
def test_sentences_are_short(page):
    assert p90(page.read_text(encoding="utf-8")) <= LONGEST


def test_long_sentences_are_found():
    page = f"# No end\n\n{'word ' * 28}end. Next:\n- an item\n- [two words](x.md), `a b c`.\n\n| {'cell ' * 50}|\n"
    assert [len(words) for words in sentences(page)] == [29, 1, 2, 3]
    assert p90(page) == 29
