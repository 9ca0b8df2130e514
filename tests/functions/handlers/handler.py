import ctypes
import os
import sys
import time

import mesh


def numbers(count):
    for number in range(count):
        yield f"piece {number}\n"


def endless():
    while True:
        yield b"x" * 65536


def Handler(req):
    word = req.input.split(b" ", 1)[0].strip()
    if word == b"throw":
        raise ValueError("no such thing")
    if word == b"exit":
        os._exit(3)
    if word == b"crash":
        ctypes.string_at(0)
    if word == b"hang":
        while True:
            time.sleep(3600)
    if word == b"flood":
        return endless()
    if word == b"head":
        text = f"{req.method} {req.path} {req.query} {req.headers.get('traceparent')} {req.call_id}"
        return 418, {"X-Pot": "tea"}, text
    if word == b"cookies":
        return 200, {"Set-Cookie": ["a=1; Path=/", "b=2; Path=/"], "X-Number": 7}, "set"
    if word == b"bad-status":
        return 999, {}, "x"
    if word == b"bad-name":
        return 200, {"Bad Header": "x"}, "x"
    if word == b"bad-value":
        return 200, {"X-A": "x\r\nSet-Cookie: stolen=1"}, "x"
    if word == b"big-head":
        return 200, {"X-A": "x" * (2 << 20)}, "x"
    if word == b"bad-type":
        return 200, {"X-A": {"x": 1}}, "x"
    if word == b"mesh":
        return mesh.mesh_call("other", req.input[5:])
    if word == b"stream":
        return numbers(int(req.input.split()[1]))
    if word == b"print":
        print("a line of the log")
        print("an error of the log", file=sys.stderr)
    return req.input
