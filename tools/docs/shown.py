"""Compares what a page shows with what a command printed, and refreshes it.

`…` stands for what varies: within a line for any text, on a line of its own for any lines.
"""
import difflib
import re

ANY = "…"


def is_any(line):
    return line.strip() == ANY


def line_matches(shown, real):
    pattern = ".*".join(re.escape(part) for part in shown.rstrip().split(ANY))
    return re.fullmatch(pattern, real.rstrip()) is not None


def matches(shown, real):
    """True where the lines of the page fit the lines of the output."""
    reach = {0}  # numbers of real lines that the shown lines so far can stand for
    for line in shown:
        if is_any(line):
            reach = set(range(min(reach), len(real) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(real) and line_matches(line, real[at])}
    return len(real) in reach


def lines_of(output):
    lines = [line.rstrip() for line in output.rstrip("\n").split("\n")]
    return [] if lines == [""] else lines


def keep_gaps(shown, real):
    """A new line with `…` where the old line had it, if it is built the same way."""
    if ANY not in shown:
        return real
    if line_matches(shown, real):
        return shown
    old, new = re.split(r"(\s+)", shown), re.split(r"(\s+)", real)
    if len(old) != len(new):
        return real
    return "".join(o if ANY in o and line_matches(o, n) else n for o, n in zip(old, new))


def refreshed(shown, real):
    """What a page should show now: the output, with as much left out as before."""
    if matches(shown, real):
        return shown
    kept = [line for line in shown if not is_any(line)]
    # Which lines of the output the page shows: those that align with a shown line.
    pairs, start = {}, 0
    for number, line in enumerate(kept):
        best, score = None, 0.6
        for at in range(start, len(real)):
            likeness = 1.0 if line_matches(line, real[at]) else \
                difflib.SequenceMatcher(None, line, real[at]).ratio()
            if likeness > score:
                best, score = at, likeness
        if best is not None:
            pairs[number], start = best, best + 1
    if len(kept) == len(shown) or not pairs:
        partner = {at: kept[number] for number, at in pairs.items()}
        return [keep_gaps(partner.get(at, ""), line) for at, line in enumerate(real)]
    result, number, at = [], 0, 0
    for line in shown:
        if is_any(line):
            result.append(line)
            later = [pairs[n] for n in range(number, len(kept)) if n in pairs]
            at = min(later) if later else len(real)
            continue
        if number in pairs:
            while at < pairs[number] and not (result and is_any(result[-1])):
                result.append(real[at])
                at += 1
            result.append(keep_gaps(line, real[pairs[number]]))
            at = pairs[number] + 1
        number += 1
    return result


MAX_DIFFERENCE = 30


def difference(shown, real):
    """The lines that differ, at most MAX_DIFFERENCE of them, for people."""
    # Lines that match by their gaps are taken as equal.
    known = [old if is_any(old) else next((line for line in real if line_matches(old, line)), old)
             for old in shown]
    lines = [line for line in difflib.unified_diff(known, real, lineterm="", n=1)
             if not line.startswith(("---", "+++", "@@"))]
    if len(lines) > MAX_DIFFERENCE:
        lines = lines[:MAX_DIFFERENCE] + [f"... and {len(lines) - MAX_DIFFERENCE} lines more"]
    return "\n".join("    " + line for line in lines)
