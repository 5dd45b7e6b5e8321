"""Links between pages lead somewhere, and the files that pages name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("include/ramet/*.md")])
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")
NAMED = re.compile(r"`((?:src|include|python|tests|tools|bench|examples|docs)/[\w./-]+)`")


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
