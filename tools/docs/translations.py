"""Compares translated pages with the English ones: NAME.ko.md, NAME.zh.md, NAME.ja.md beside NAME.md.

Blocks of code, directives, headings, tables, lists and links must be those of the English page, so that no
translation drifts; the rest must be in its language.
"""
import collections
import re

from docs import pages

# The letters that show a line to be in the language.
SCRIPTS = {
    "ko": re.compile(r"[\uac00-\ud7a3]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ja": re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"),
}
# Letters that another language than this one has.
FOREIGN = {
    "ko": re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"),
    "zh": re.compile(r"[\u3040-\u30ff\uac00-\ud7a3]"),
    "ja": re.compile(r"[\uac00-\ud7a3]"),
}
NAMES = {"en": "English", "ko": "한국어", "zh": "简体中文", "ja": "日本語"}
# An English page whose translations have only what stands above this line.
END = "<!-- translated up to here -->"
# More words in a row, outside of code, than the name of any product has.
SENTENCE = re.compile(r"[A-Za-z][A-Za-z'’]*(?:[ ,]+[A-Za-z][A-Za-z'’]*){5,}")
NAME = re.compile(r"^(.*)\.(ko|zh|ja)$")
CODE = re.compile(r"`+[^`]*`+")
TARGET = re.compile(r"\]\([^()\s]*\)")
FILE = re.compile(r"\[[\w.-]+\.md\]")


def language_of(path):
    """"ko", "zh" or "ja" of a translated page, "en" of any other."""
    found = NAME.match(path.stem)
    return found.group(2) if found else "en"


def original_of(path):
    """The English page of a translated one; the page itself if it is English."""
    found = NAME.match(path.stem)
    return path.with_name(found.group(1) + ".md") if found else path


def translation_of(path, language):
    """Where the page stands in a language, whether it exists or not."""
    original = original_of(path)
    return original if language == "en" else original.with_name(f"{original.stem}.{language}.md")


def text_of(path, whole=True):
    text = path.read_text()
    return text if whole or END not in text else text[:text.index(END)]


def hidden(lines):
    """(number, line) of what readers do not see: directives, and what a page prepares."""
    inside = False
    for number, line in enumerate(lines, 1):
        if inside or line.startswith("<!--"):
            yield number, line
            inside = "-->" not in line


def blocks(lines):
    """The blocks of code, each as its lines with their marks."""
    found, block = [], None
    for number, line in enumerate(lines, 1):
        if block is None and line.lstrip().startswith("```"):
            block = (number, [line])
        elif block is not None:
            block[1].append(line)
            if line.strip() == "```":
                found.append(block)
                block = None
    return found


def readable(lines):
    """(number, line) of what readers see as text."""
    skipped = {number for number, _ in hidden(lines)}
    return [(number, line) for number, line in pages.prose(lines) if number not in skipped]


def is_bar(path, line):
    """Whether the line is the one with the links to the page in other languages."""
    targets = pages.LINK.findall(line)
    own = {translation_of(path, language).name for language in NAMES}
    return bool(targets) and set(targets) <= own


def english_target(path, target):
    """A link's target, as the English page has it."""
    name, mark, anchor = target.partition("#")
    if re.match(r"^[a-z][a-z+.-]*:", target) or not name.endswith(".md"):
        return target
    goal = path.parent / name
    return name.removesuffix(goal.name) + original_of(goal).name + mark + anchor


def links(path, lines):
    found = collections.Counter()
    for _, line in readable(lines):
        if not is_bar(path, line):
            found.update(english_target(path, target) for target in pages.LINK.findall(CODE.sub("", line)))
    return found


def shape(lines):
    """Headings by level, rows of tables and items of lists, in their order."""
    found = []
    for number, line in readable(lines):
        for mark, kind in ((r"#{1,6} ", None), (r"\|", "row"), (r"\s*[-*] ", "item"), (r"\s*\d+\. ", "step")):
            match = re.match(mark, line)
            if match:
                found.append((number, kind or "heading " + str(len(match.group().strip()))))
                break
    return found


def code_spans(lines):
    return {span for _, line in readable(lines) for span in CODE.findall(line)}


def differences(path, lines, original):
    """What a translation has otherwise than the English page; numbers are of its lines."""
    for (number, ours), (_, theirs) in zip(blocks(lines), blocks(original)):
        if ours != theirs:
            at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]),
                      min(len(ours), len(theirs)))
            yield number + at, "this block of code differs from that of the English page"
            return
    counts = len(blocks(lines)), len(blocks(original))
    if counts[0] != counts[1]:
        yield len(lines), f"has {counts[0]} blocks of code, the English page {counts[1]}"
        return
    ours, theirs = [line for _, line in hidden(lines)], [line for _, line in hidden(original)]
    if ours != theirs:
        odd = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), (ours or theirs)[-1:])
        yield 1, f"directives differ from those of the English page: {odd[0]}"
    ours, theirs = shape(lines), shape(original)
    for (number, kind), (_, expected) in zip(ours, theirs):
        if kind != expected:
            yield number, f"{kind}, where the English page has: {expected}"
            return
    if len(ours) != len(theirs):
        yield len(lines), f"has {len(ours)} headings, rows and items, the English page {len(theirs)}"
    for what, mine, english in (("link", links(path, lines), links(original_of(path), original)),
                                ("code", code_spans(lines), code_spans(original))):
        for name in sorted(mine - english):
            yield 1, f"has the {what} {name}, which the English page has not, or less often"
        for name in sorted(english - mine):
            yield 1, f"lacks the {what} {name} of the English page"


def wrong_words(lines, path, language):
    """Lines of text that are not in the language."""
    for number, line in readable(lines):
        if is_bar(path, line) or set(line) <= set("|-: "):
            continue
        text = FILE.sub("[]", TARGET.sub("]", CODE.sub("``", line)))
        words = [word for word in re.findall(r"[A-Za-z]{2,}", text) if word != "kgpu"]
        if line.startswith("|"):
            # A cell may be nothing but the name of a product.
            cells = [cell for cell in text.strip("|").split("|") if len(re.findall(r"[A-Za-z]{2,}", cell)) > 4]
            if any(not SCRIPTS[language].search(cell) for cell in cells):
                yield number, f"a cell that is not in {NAMES[language]}"
        elif words and not SCRIPTS[language].search(text):
            yield number, f"a line that is not in {NAMES[language]}"
        sentence = SENTENCE.search(text)
        if sentence:
            yield number, f"English in a page in {NAMES[language]}: {sentence.group()}"
        elif FOREIGN[language].search(text):
            yield number, f"letters of another language in a page in {NAMES[language]}"


def broken_paragraphs(lines, language):
    """Lines that continue a paragraph: in languages without spaces, the break would be shown as one."""
    before = 0
    for number, line in readable(lines) if language in ("zh", "ja") else ():
        if line.strip() and not re.match(r"(?:#|\||[-*] |\d+\. |!\[)", line):
            if before == number - 1:
                yield number, "joins the paragraph above: write it in one line, without the space of a line break"
            before = number


def missing_links(path, lines, language):
    """Links that lead to English although the page exists in this language."""
    for number, line in readable(lines):
        if is_bar(path, line):
            continue
        for target in pages.LINK.findall(CODE.sub("", line)):
            name = target.partition("#")[0]
            goal = path.parent / name
            if name.endswith(".md") and language_of(goal) != language and \
                    translation_of(goal, language).exists():
                yield number, f"links to {name}, which exists in {NAMES[language]}"


def problems_of(path, top):
    """What is wrong with one page that has translations, or is one."""
    language = language_of(path)
    shown = path.relative_to(top) if path.is_relative_to(top) else path
    original = original_of(path)
    if not original.exists():
        yield f"{shown}: translates {original.name}, which does not exist"
        return
    others = [translation_of(path, other) for other in NAMES]
    existing = [other for other in others if other.exists()]
    if len(existing) == 1:
        return  # in English only
    for other in others:
        if not other.exists():
            yield f"{shown}: {other.name} is missing: a page is translated into all languages or none"
    lines = text_of(path).split("\n")
    bars = [line for _, line in readable(lines) if is_bar(path, line)]
    linked = {target for line in bars for target in pages.LINK.findall(line)}
    wanted = {other.name for other in existing if other != path}
    if len(bars) != 1 or linked != wanted:
        yield f"{shown}: needs one line with links to {', '.join(sorted(wanted))}, and nothing else"
    if language == "en":
        return
    found = [*differences(path, lines, text_of(original, whole=False).split("\n")),
             *wrong_words(lines, path, language),
             *broken_paragraphs(lines, language), *missing_links(path, lines, language)]
    for number, text in sorted(found):
        yield f"{shown}:{number}: {text}"


def refresh(path):
    """Gives the page's translations its blocks of code; returns how many translations changed."""
    english = [block for _, block in blocks(text_of(path, whole=False).split("\n"))]
    changed = 0
    for language in SCRIPTS:
        other = translation_of(path, language)
        if not other.exists():
            continue
        lines = other.read_text().split("\n")
        old = blocks(lines)
        if len(old) != len(english):
            continue  # problems_of() says so
        for (number, block), new in reversed(list(zip(old, english))):
            lines[number - 1:number - 1 + len(block)] = new
        text = "\n".join(lines)
        if text != other.read_text():
            other.write_text(text)
            changed += 1
    return changed
