"""Reads texts out of C++ sources: the arguments of calls, as far as they are literals."""
import re

TOKEN = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|[A-Za-z_]\w*|\s+|.', re.DOTALL)
OPEN, CLOSE = "([{", ")]}"
ESCAPES = {'\\"': '"', "\\n": " ", "\\\\": "\\"}


def tokens(text):
    """Without comments and white space."""
    found = (token.group() for token in TOKEN.finditer(text))
    return [token for token in found if not token.isspace() and not token.startswith("//")]


def group(parts, start):
    """The elements within the bracket at `start`, each a list of tokens, and where it ends."""
    elements, depth, at = [[]], 0, start
    while at < len(parts):
        token = parts[at]
        depth += (token in OPEN) - (token in CLOSE)
        if depth == 0:
            return [element for element in elements if element], at
        if depth == 1 and token == ",":
            elements.append([])
        elif at > start:
            elements[-1].append(token)
        at += 1
    return [element for element in elements if element], at


def terms(element):
    """The operands of a sum."""
    found, depth = [[]], 0
    for token in element:
        depth += (token in OPEN) - (token in CLOSE)
        if token == "+" and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def literal(element):
    """The text of an element that is a literal, or a call of fmt::format with one; else None.

    What format fills in becomes "…".
    """
    if element == ["Configure", "(", ")"]:
        return "kgpu runtime configure --engine …"
    if element[:4] == ["fmt", ":", ":", "format"]:
        inner, _ = group(element, 4)
        text = literal(inner[0]) if inner else None
        return text and re.sub(r"\{[^{}]*\}", "…", text.replace("{{", "\0").replace("}}", "\1")) \
            .replace("\0", "{").replace("\1", "}")
    pieces = terms(element)
    if len(pieces) > 1:
        texts = [literal(piece) for piece in pieces]
        return "".join(text or "…" for text in texts) if any(texts) else None
    if not element or not all(token.startswith('"') for token in element):
        return None
    text = "".join(token[1:-1] for token in element)
    return re.sub(r'\\["n\\]', lambda escape: ESCAPES[escape.group()], text)


def texts_of_list(element):
    """The literals of a list in braces; None where the element is no such list."""
    if not element or element[0] != "{":
        return None
    elements, _ = group(element, 0)
    return [text for text in (literal(one) for one in elements) if text]


def calls(parts, name):
    """The arguments of every call of a function."""
    for at, token in enumerate(parts[:-1]):
        if token == name and parts[at + 1] == "(":
            yield group(parts, at + 1)[0]


def bodies(parts):
    """The functions that are defined, by their name: the tokens between their braces."""
    found = {}
    for at, token in enumerate(parts[:-1]):
        if parts[at + 1] == "(" and re.match(r"[A-Z]\w*$", token) and at and re.match(r"[\w>&*]+$", parts[at - 1]):
            _, end = group(parts, at + 1)
            if end + 1 < len(parts) and parts[end + 1] == "{":
                _, last = group(parts, end + 1)
                found[token] = parts[end + 2:last]
    return found
