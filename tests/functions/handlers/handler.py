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
    if word == b"mesh":
        return mesh.mesh_call("other", req.input[5:])
    if word == b"stream":
        return numbers(int(req.input.split()[1]))
    if word == b"print":
        print("a line of the log")
        print("an error of the log", file=sys.stderr)
    return req.input
