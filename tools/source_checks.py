"""What tools/tidy and tools/compile_alone share: which sources they read, how each is compiled, and
which of them were clean as they are now."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build/tidy"
FOLDERS = ("src/", "testing/", "tests/", "bench/")
INCLUDE = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)


class Texts:
    """Sources with all project headers that they include. Reads each file once."""

    def __init__(self):
        self._files = {}
        self._closures = {}

    def _read(self, path):
        """(hash of the text, project files that it includes)"""
        if path not in self._files:
            text = (TOP / path).read_bytes()
            included = [name.decode() for name in INCLUDE.findall(text)]
            self._files[path] = (hashlib.sha256(text).digest(),
                                 [name for name in included if (TOP / name).is_file()])
        return self._files[path]

    def closure(self, path):
        """`path` and every project file that it includes, directly or not."""
        if path not in self._closures:
            seen, todo = set(), [path]
            while todo:
                name = todo.pop()
                if name not in seen:
                    seen.add(name)
                    todo += self._read(name)[1]
            self._closures[path] = seen
        return self._closures[path]

    def key(self, path, salt=""):
        """Hex digits that stay the same while `path`, its headers and `salt` do."""
        total = hashlib.sha256(salt.encode())
        for name in sorted(self.closure(path)):
            total.update(self._read(name)[0])
        return total.hexdigest()


class Command:
    """How one source is compiled: the target that it belongs to, and the flags."""

    def __init__(self, entry):
        words = shlex.split(entry["command"])
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        at = words.index("-o")
        self.target = os.path.dirname(words[at + 1]).split(".dir")[0]
        words = words[:at] + words[at + 2:]
        at = words.index("-c")
        self.compiler, self.flags = words[0], words[1:at]
        for flag in ("-MD", "-MT", "-MF"):
            if flag in self.flags:
                at = self.flags.index(flag)
                del self.flags[at:at + (1 if flag == "-MD" else 2)]
        # Without the folder of this clone: a salt of keys.
        self.salt = " ".join(self.flags).replace(str(TOP), "")


def commands():
    """{source: Command} of all sources of the project that are not generated."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "tidy"], cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "generated"], check=True,
                   stdout=subprocess.DEVNULL)
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], TOP)
        if path.startswith(FOLDERS):
            found.setdefault(path, Command(entry))
    return found


def git(*arguments):
    result = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base_of_change():
    """The commit before the change: $KGPU_BASE; where this branch left origin/main; on main itself,
    the one before the last. Empty: all is new."""
    if os.environ.get("KGPU_BASE"):
        return os.environ["KGPU_BASE"]
    head, fork = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "origin/main")
    if fork and fork != head:
        return fork
    return git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_files():
    """Files that differ from base_of_change(), those changed last first."""
    base = base_of_change()
    if not base:
        return git("ls-files").splitlines()
    order = git("diff", "--name-only", "HEAD").splitlines()
    order += git("log", "--format=", "--name-only", f"{base}..HEAD").splitlines()
    differs = set(git("diff", "--name-only", "--diff-filter=AMR", base).splitlines())
    return [name for name in dict.fromkeys(order) if name in differs]


def changed_sources(texts, known):
    """The sources among `known` that changed, or whose own header did."""
    found = []
    for name in changed_files():
        source = name[:-2] + ".cc" if name.endswith(".h") else name
        if source in known:
            found.append(source)
    return list(dict.fromkeys(found))


def including_sources(texts, known):
    """The sources among `known` that changed, then those that include a changed header."""
    first = changed_sources(texts, known)
    headers = {name for name in changed_files() if name.endswith(".h")}
    rest = [name for name in known if headers & texts.closure(name)]
    return list(dict.fromkeys(first + rest))


class Memory:
    """Remembers across runs what was clean."""

    def __init__(self, name):
        self._folder = pathlib.Path(
            os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), name)
        self._folder.mkdir(parents=True, exist_ok=True)

    def has(self, key):
        return (self._folder / key).exists()

    def add(self, key):
        (self._folder / key).touch()


def run_all(jobs, minutes, title):
    """Calls jobs in their order, as many at a time as there are cores; each returns whether it found
    nothing. None is begun after `minutes`, if that is not None. The exit code of the program."""
    deadline = None if minutes is None else time.monotonic() + minutes * 60
    print(f"== {title}", file=sys.stderr)

    def run_one(job):
        if deadline is not None and time.monotonic() > deadline:
            return "late"
        return "clean" if job() else "broken"

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(run_one, jobs))
    late = results.count("late")
    if late:
        print(f"== {late} of {len(results)} had no time in {minutes:g} minutes: the next run, or "
              "scripts/nightly.sh, reads them", file=sys.stderr)
    return 1 if "broken" in results else 0
