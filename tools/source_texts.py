#!/usr/bin/env python3
"""Hashes of sources together with all project headers that they include.

  tools/source_texts.py FILE …        prints "HASH FILE" for each, a line each
  tools/source_texts.py -0 FILE …     ends each hash and each file with NUL, for xargs -0 -n2

A check that reads a source need not read it again while its hash stays the same.
"""
import hashlib
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)


class Texts:
    """Reads each file once."""

    def __init__(self):
        self._files = {}

    def _read(self, path):
        """(hash of the text, project files that it includes)"""
        if path not in self._files:
            text = (TOP / path).read_bytes()
            included = [name.decode() for name in INCLUDE.findall(text)]
            self._files[path] = (hashlib.sha256(text).digest(),
                                 [name for name in included if (TOP / name).is_file()])
        return self._files[path]

    def key(self, path, salt=""):
        """Hex digits of what `path` and `salt` say."""
        seen, open_ = set(), [path]
        while open_:
            name = open_.pop()
            if name not in seen:
                seen.add(name)
                open_ += self._read(name)[1]
        total = hashlib.sha256(salt.encode())
        for name in sorted(seen):
            total.update(self._read(name)[0])
        return total.hexdigest()


if __name__ == "__main__":
    TEXTS = Texts()
    ENDS_WITH_NUL = sys.argv[1:2] == ["-0"]
    for file in sys.argv[2 if ENDS_WITH_NUL else 1:]:
        print(TEXTS.key(file), file, sep="\0" if ENDS_WITH_NUL else " ",
              end="\0" if ENDS_WITH_NUL else "\n")
