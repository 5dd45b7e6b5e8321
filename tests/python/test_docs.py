"""Links between pages lead somewhere, the files that pages name exist, and sentences are short."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
