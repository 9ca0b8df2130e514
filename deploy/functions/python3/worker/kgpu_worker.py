"""The worker of Python functions: imports the handler once, then answers the calls of kgpu-fnwatch.

The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md. What
the handler prints is its log. Standard library only.
"""
import importlib.util
import json
import operator
import os
import platform
import queue
import struct
import sys
import threading
import traceback

HEAD = struct.Struct("<IBBHI")
MAX_PAYLOAD = 1 << 20
IN_FD, OUT_FD = 3, 4


class Request:
    """What a handler gets: input (bytes), headers (lower-case names), method, path, query, call_id."""

    __slots__ = ("input", "headers", "method", "path", "query", "call_id", "deadline_ms", "_given_up")

    def __init__(self, about, data, given_up):
        self.input = data
        self.headers = about.get("headers", {})
        self.method = about.get("method", "POST")
        self.path = about.get("path", "/")
        self.query = about.get("query", "")
        self.call_id = about.get("id", "")
        self.deadline_ms = about.get("deadlineMs", 0)
        self._given_up = given_up

    @property
    def is_given_up(self):
        """Whether nobody waits for the answer any more: a long loop may look, and return."""
        return self._given_up.is_set()


class GivenUp(Exception):
    """Ends a stream that nobody reads."""


class Call:
    """One call while its input arrives, and then in its thread."""

    def __init__(self, number, about):
        self.number = number
        self.about = about
        self.pieces = []
        self.given_up = threading.Event()


class Output:
    """Writes frames; threads take turns."""

    def __init__(self, fd):
        self._fd = fd
        self._lock = threading.Lock()

    def send(self, *frames):
        """Writes (type, call, payload) frames together. A watchdog that is gone ends us."""
        parts = []
        for kind, call, payload in frames:
            parts.append(HEAD.pack(len(payload), ord(kind), 0, 0, call))
            if payload:
                parts.append(payload)
        data = memoryview(b"".join(parts))
        try:
            with self._lock:
                while data:
                    data = data[os.write(self._fd, data):]
        except OSError:
            os._exit(0)


def read_exactly(fd, size):
    """`size` bytes; None at the end of the input."""
    first = os.read(fd, size)
    if len(first) == size:
        return first
    data = bytearray(first)
    while first and len(data) < size:
        first = os.read(fd, size - len(data))
        data += first
    return bytes(data) if len(data) == size else None


def load_handler():
    """The function that the environment names."""
    folder = os.environ.get("HANDLER_DIR") or "/function"
    name = os.environ.get("HANDLER_NAME") or "Handler"
    file = os.environ.get("HANDLER_FILE") or "handler.py"
    path = os.path.join(folder, file if file.endswith(".py") else file + ".py")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        sys.exit(f"{path}: no such handler: check handler.dir and handler.file in config.yaml")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    handler = getattr(module, name, None)
    if not callable(handler):
        sys.exit(f"{path}: no function {name}: check handler.name in config.yaml")
    return handler


def as_bytes(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if value is None:
        return b""
    raise TypeError(f"a handler returns str, bytes, an iterator of them, or (status, headers, body); "
                    f"not {type(value).__name__}")


def as_field(value):
    """The value of a header as JSON: a list is that many fields. The watchdog refuses what is no text."""
    if isinstance(value, (list, tuple)):
        return [as_field(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value.decode("latin-1") if isinstance(value, bytes) else value


def as_fields(headers):
    """Headers as a map of names to lists of values; from a map, or from pairs of a name and a value."""
    if headers is None:
        return {}
    if isinstance(headers, (list, tuple)) and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in headers):
        pairs = headers
    elif hasattr(headers, "items"):
        pairs = headers.items()
    else:
        return headers
    fields = {}
    for name, value in pairs:
        value = as_field(value)
        name = name.decode("latin-1") if isinstance(name, bytes) else str(name)
        fields.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return fields


def head_frame(number, status, headers):
    """The watchdog judges what it says: an answer that is no valid HTTP fails its own call only."""
    try:
        status = int(status) if isinstance(status, str) else operator.index(status)
    except (TypeError, ValueError):
        pass
    head = {"status": status, "headers": as_fields(headers)}
    # A type that JSON lacks is named, and thereby refused.
    text = json.dumps(head, default=lambda value: {"a value of the type": type(value).__name__})
    return ("H", number, text.encode()[:MAX_PAYLOAD])


def data_frames(number, data):
    if len(data) <= MAX_PAYLOAD:
        return [("D", number, data)] if data else []
    view = memoryview(data)
    return [("D", number, view[at:at + MAX_PAYLOAD]) for at in range(0, len(view), MAX_PAYLOAD)]


class Worker:
    def __init__(self, handler, output):
        self._handler = handler
        self._output = output
        self._calls = {}
        self._lock = threading.Lock()
        self._idle = 0
        self._work = queue.SimpleQueue()
        self._done = threading.Condition(self._lock)

    def read(self, fd):
        """Takes frames until the watchdog wants no more."""
        while True:
            head = read_exactly(fd, HEAD.size)
            if head is None:
                return False
            size, kind, _, _, number = HEAD.unpack(head)
            payload = read_exactly(fd, size) if size else b""
            if payload is None:
                return False
            if kind == ord("Q"):
                return True
            self._take(chr(kind), number, payload)

    def _take(self, kind, number, payload):
        if kind == "C":
            with self._lock:
                self._calls[number] = Call(number, json.loads(payload))
            return
        with self._lock:
            call = self._calls.get(number)
        if call is None:
            return
        if kind == "D":
            call.pieces.append(payload)
        elif kind == "E":
            self._start(call)
        elif kind == "X":
            call.given_up.set()

    def _start(self, call):
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                threading.Thread(target=self._serve, daemon=True).start()
        self._work.put(call)

    def _serve(self):
        while True:
            call = self._work.get()
            self._run(call)
            with self._lock:
                del self._calls[call.number]
                self._idle += 1
                if not self._calls:
                    self._done.notify_all()

    def wait(self):
        """Until all calls are done."""
        with self._lock:
            while self._calls:
                self._done.wait()

    def _run(self, call):
        data = call.pieces[0] if len(call.pieces) == 1 else b"".join(call.pieces)
        call.pieces = []
        try:
            self._answer(call, self._handler(Request(call.about, data, call.given_up)))
        except GivenUp:
            self._output.send(("E", call.number, b""))
        except BaseException as error:  # also SystemExit: a handler ends its call, not the worker
            traceback.print_exc()
            text = "".join(traceback.format_exception_only(type(error), error)).strip()
            self._output.send(("F", call.number, text.encode(errors="replace")[:16384]))

    def _answer(self, call, result):
        frames = []
        if isinstance(result, tuple):
            if len(result) != 3:
                raise TypeError("a handler that returns a tuple returns (status, headers, body)")
            status, headers, result = result
            frames.append(head_frame(call.number, status, headers))
        if isinstance(result, (str, bytes, bytearray, memoryview)) or result is None:
            frames += data_frames(call.number, as_bytes(result))
        else:
            if not hasattr(result, "__iter__"):
                as_bytes(result)  # says what it may be
            if frames:
                self._output.send(*frames)
                frames = []
            self._stream(call, result)
        self._output.send(*frames, ("E", call.number, b""))

    def _stream(self, call, pieces):
        try:
            for piece in pieces:
                if call.given_up.is_set():
                    raise GivenUp()
                frames = data_frames(call.number, as_bytes(piece))
                if frames:
                    self._output.send(*frames)
        finally:
            close = getattr(pieces, "close", None)
            if close:
                close()


def main():
    # A log appears line by line, also in a pipe.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    # What the handler starts must not hold the pipes.
    for fd in (IN_FD, OUT_FD):
        os.set_inheritable(fd, False)
    handler = load_handler()
    is_concurrent = int(os.environ.get("KGPU_FN_CONCURRENCY") or "1") > 1
    output = Output(OUT_FD)
    ready = {"concurrent": is_concurrent, "runtime": "python " + platform.python_version()}
    output.send(("R", 0, json.dumps(ready).encode()))
    worker = Worker(handler, output)
    if worker.read(IN_FD):
        worker.wait()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads of handlers that nobody waits for must not keep us


if __name__ == "__main__":
    main()
