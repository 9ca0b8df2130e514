"""Reads the documentation: code blocks with their directives, and links."""
import dataclasses
import os
import pathlib
import re
import subprocess

FENCE = re.compile(r"^```(\w*)\s*$")
DIRECTIVE = re.compile(r"^<!--\s*(host|page needs|not run|exits|needs|output of):\s*(.*?)\s*-->$")
EXITS = re.compile(r"(?:^|\s)#.*\bexits (\d+)\b")
SHOWN = ("console", "sh")


class BadPage(Exception):
    """A directive or a block that cannot be read; the text has the place."""


@dataclasses.dataclass
class Command:
    line: int           # of the page, from 1
    text: str
    exits: int
    output: list        # expected lines; None where the page shows none
    output_start: int   # index of the first output line in the page, from 0


@dataclasses.dataclass
class Block:
    line: int
    commands: list
    skipped: str = ""   # why it is not run
    needs: tuple = ()   # programs that kgpu does not bring
    hidden: bool = False


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    lines: list
    host: str           # profile of the simulated host, "none", or "" for the default
    needs: tuple        # programs that kgpu does not bring
    blocks: list


def is_complete(text):
    """True where bash would run the text, rather than ask for more lines."""
    parsed = subprocess.run(["bash", "-n"], input=text + "\n", capture_output=True, text=True,
                            check=False, env={**os.environ, "LC_ALL": "C"})
    incomplete = "unexpected end of file" in parsed.stderr or \
        "unexpected EOF" in parsed.stderr or "delimited by end-of-file" in parsed.stderr
    return not incomplete and not text.endswith("\\")


def split_commands(path, lines, start, default_exit):
    """The commands of a block of type sh: every line is one, comments aside."""
    commands, text, first = [], "", start
    for number, line in enumerate(lines, start):
        if not text and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first if text else number
        text = text + "\n" + line if text else line
        if is_complete(text):
            commands.append(Command(first + 1, text, exit_of(text, default_exit), None, 0))
            text = ""
    if text:
        raise BadPage(f"{path}:{first + 1}: this command does not end in its block")
    return commands


def exit_of(text, default):
    found = EXITS.search(text)
    return int(found.group(1)) if found else default


def split_console(path, lines, start, default_exit):
    """The commands of a block of type console, which begin with `$ `, and their output."""
    commands = []
    number = 0
    while number < len(lines):
        if not lines[number].startswith("$ "):
            raise BadPage(f"{path}:{start + number + 1}: a console block begins with `$ COMMAND`")
        first, text = number, lines[number][2:]
        number += 1
        while not is_complete(text) and number < len(lines):
            more = lines[number]
            text += "\n" + (more[2:] if more.startswith("> ") else more)
            number += 1
        begin = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        output = lines[begin:number]
        commands.append(Command(start + first + 1, text, exit_of(text, default_exit),
                                output or None, start + begin))
    return commands


def read(path):
    lines = path.read_text().split("\n")
    page = Page(path, lines, "", (), [])
    skipped, needs, default_exit = "", (), 0
    number = 0
    while number < len(lines):
        line = lines[number]
        directive = DIRECTIVE.match(line)
        fence = FENCE.match(line)
        if directive:
            name, value = directive.groups()
            if not value:
                raise BadPage(f"{path}:{number + 1}: {name}: needs a value")
            if name == "host":
                page.host = value
            elif name == "page needs":
                page.needs = tuple(value.split())
            elif name == "not run":
                skipped = value
            elif name == "needs":
                needs = tuple(value.split())
            elif name == "output of":
                begin, end = span_of_output(lines, number + 1, path)
                command = Command(number + 1, value, 0, lines[begin:end], begin)
                page.blocks.append(Block(number + 1, [command]))
                number = end if end < len(lines) and lines[end] == "```" else end - 1
            elif not value.isdigit():
                raise BadPage(f"{path}:{number + 1}: exits: {value} is no exit code")
            else:
                default_exit = int(value)
        elif line.strip() == "<!-- before":
            end = find(lines, number + 1, "-->", path)
            commands = split_commands(path, lines[number + 1:end], number + 1, 0)
            page.blocks.append(Block(number + 1, commands, needs=needs, hidden=True))
            number = end
        elif fence:
            end = find(lines, number + 1, "```", path)
            if fence.group(1) in SHOWN:
                split = split_console if fence.group(1) == "console" else split_commands
                commands = [] if skipped and fence.group(1) == "sh" else \
                    split(path, lines[number + 1:end], number + 1, default_exit)
                page.blocks.append(Block(number + 1, commands, skipped, needs))
            elif any(text.startswith("$ ") for text in lines[number + 1:end]):
                raise BadPage(f"{path}:{number + 1}: a block with `$ COMMAND` must be ```console")
            skipped, needs, default_exit = "", (), 0
            number = end
        number += 1
    return page


def span_of_output(lines, start, path):
    """Where the output stands that follows a directive: a table, or a block of code."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start < len(lines) and lines[start].startswith("```"):
        return start + 1, find(lines, start + 1, "```", path)
    end = start
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    if end == start:
        raise BadPage(f"{path}:{start}: a table or a block must follow `output of`")
    return start, end


def find(lines, number, mark, path):
    start = number
    while number < len(lines) and lines[number].strip() != mark:
        number += 1
    if number == len(lines):
        raise BadPage(f"{path}:{start}: this block does not end with {mark}")
    return number


# Links ------------------------------------------------------------------------------------------

LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
IN_CODE = re.compile(r"`[^`]*`")
# Names with a gap, as `src/*/foo.cc` or `docs/…`, are passed over.
MENTION = re.compile(r"(?:(?<![\w/.$}*-])|(?<=\"/))"
                     r"(?:docs|src|scripts|deploy|tools|testing|tests|bench|fuzz)/[\w./+-]*"
                     r"(?![\w./+*{$…-]|<(?!/))")
# Of other projects, which comments name; and of no project.
FOREIGN = {"docs/cri/config.md", "docs/hosts.md", "scripts/sign-file.c", "tools/clientcmd/api/v1",
           "src/cpp/common/completion_queue_cc.cc", "fuzz/corpus/foo", "docs/architecture.svg.new"}
# Tests that make trees of their own, inputs of the fuzzers, and what others wrote.
UNREAD = ("tests/layers_test.sh", "tests/words_test.sh", "tests/docs/run_docs_test.sh",
          "fuzz/corpus/", "tests/data/", "proto/")


def prose(lines):
    """(number, line) outside of code blocks."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def slug(heading):
    """The anchor that GitHub gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    names, seen = set(), {}
    for _, line in prose(path.read_text().split("\n")):
        if re.match(r"^#{1,6} ", line):
            name = slug(line.lstrip("#"))
            count = seen.get(name, 0)
            seen[name] = count + 1
            names.add(f"{name}-{count}" if count else name)
        names.update(re.findall(r"<a (?:name|id)=\"([^\"]+)\"", line))
    return names


def alerts(text):
    """(line, name, runbook_url or "") of each alert in rules of Prometheus."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r"\s*- alert: (\w+)", line):
            found.append((number, match.group(1), ""))
        elif found and (match := re.match(r"\s*runbook_url: (\S+)$", line)):
            found[-1] = (*found[-1][:2], match.group(1))
    return found


def goals(path):
    """The files that a page's relative links lead to."""
    names = [target.partition("#")[0] for _, line in prose(path.read_text().split("\n"))
             for target in LINK.findall(IN_CODE.sub("", line)) if not re.match(r"^[a-z][a-z+.-]*:", target)]
    return {(path.parent / name).resolve() for name in names if name}


def bad_links(path, top):
    """Lines that say which relative links of a page lead nowhere."""
    for number, line in prose(path.read_text().split("\n")):
        for target in LINK.findall(IN_CODE.sub("", line)):
            if re.match(r"^[a-z][a-z+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            goal = (path.parent / name).resolve() if name else path
            where = f"{path.relative_to(top)}:{number}"
            if not goal.exists():
                yield f"{where}: the link to {target} leads nowhere"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                yield f"{where}: {goal.relative_to(top)} has no heading for #{anchor}"


def is_of_a_function(shown, name, top):
    """Whether a source about functions names a file of one, whose folder has a src of its own."""
    return (shown.startswith(("src/functions/", "tests/functions/")) and name.startswith("src/")
            and not (top / "src" / name.split("/")[1]).is_dir())


def bad_mentions(path, top):
    """Lines that name a file of the project that does not exist."""
    shown = str(path.relative_to(top))
    if shown.startswith(UNREAD):
        return
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        for found in MENTION.findall(line):
            name = found.rstrip(".")
            if name in FOREIGN or is_of_a_function(shown, name, top):
                continue
            if not (top / name).exists():
                yield f"{shown}:{number}: there is no {name}"
