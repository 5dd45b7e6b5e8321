"""What a public header says: a comment about itself, then groups of lines with an empty line between them. A group is
a comment and the code that it is about."""

import re
from collections.abc import Iterator

TYPE = re.compile(r"^(?:template <.*>\s*)?(?:struct|class|enum class|union) (\w+)[^;]*?\{", re.MULTILINE)
CONSTANT = re.compile(r"^(?:inline )?constexpr [\w:<>* ]+? (\w+)(?: = |\{|\[)|^using (\w+) =", re.MULTILINE)
FUNCTION = re.compile(r"^(?!\s|//|#).*?\b(operator[^\w\s(]+|\w+)\(", re.MULTILINE)
LITERAL = re.compile(r"//.*|\"[^\"]*\"|'.'")
NEW_PARAGRAPH = re.compile(r"[A-Z]\w*(?: \w+)?: |- ")


def groups(header: str) -> Iterator[tuple[list[str], list[str]]]:
    """The lines of each group: of its comment, without the slashes, and of its code."""
    comment: list[str] = []
    code: list[str] = []
    depth = 0
    for line in [*header.splitlines(), ""]:
        if not line and depth == 0:
            if comment or code:
                yield comment, code
            comment, code = [], []
        elif line.startswith("//") and not code:
            comment.append(line[2:].removeprefix(" "))
        elif not line.startswith(("#", "namespace ", "}  // namespace")):
            code.append(line)
            plain = LITERAL.sub("", line)
            depth += plain.count("{") - plain.count("}")


def declared(code: list[str]) -> list[str]:
    """The names that a group declares: of types, else of constants and functions."""
    text = "\n".join(code)
    if names := TYPE.findall(text):
        return names
    constants = [constant or alias for constant, alias in CONSTANT.findall(text)]
    return list(dict.fromkeys(constants + FUNCTION.findall(text)))


def paragraphs(comment: list[str]) -> list[str]:
    """A line that begins with "Memory:", say, begins a paragraph, if a sentence ends before it."""
    texts: list[str] = []
    for before, line in zip(["", *comment], comment):
        if not before or (before.endswith((".", ":")) and NEW_PARAGRAPH.match(line)):
            texts.append(line)
        elif line:
            texts[-1] += " " + line
    return [text for text in texts if text]
