"""A headless Chromium, driven through its DevTools protocol.

Source: https://chromedevtools.github.io/devtools-protocol/, domains Page, Runtime, Input, Accessibility.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import websocket

PROGRAMS = ("chromium-headless-shell", "chromium")


def find_program():
    """The browser's path; None if this machine has none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page. A context manager: the browser ends with it."""

    def __init__(self, width=1300, height=900):
        self._folder = tempfile.mkdtemp(prefix="kgpu-browser-")
        self._process = subprocess.Popen(
            [find_program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={self._folder}", f"--window-size={width},{height}",
             "--force-device-scale-factor=1", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True)
        for line in self._process.stderr:
            if line.startswith("DevTools listening on "):
                address = line.split()[-1]
                break
        else:
            raise RuntimeError("the browser does not start")
        # A browser whose messages nobody reads would stop.
        self._reader = threading.Thread(target=lambda: [None for _ in self._process.stderr])
        self._reader.start()
        self._count = 0
        self._session = None
        self._socket = websocket.create_connection(address, timeout=60)
        target = self.call("Target.getTargets")["targetInfos"][0]["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors = []
        for domain in ("Page", "Runtime", "Accessibility", "Performance", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        # Its program is a script, whose child would stay.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, **parameters):
        """The result of one command. Keeps what the page reports as wrong in `errors`."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            elif answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.errors.append(answer["params"]["entry"]["text"])

    def open(self, address):
        self.call("Page.navigate", url=address)

    def run(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition, what=None, patience=20):
        """Until a JavaScript condition holds; it is looked at with each frame of the page."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.run(f"new Promise(done => setTimeout(() => done(!!({condition})), 20))"):
                return
        raise AssertionError(f"{what or condition}: not within {patience} s; the page has:\n{self.text()[:2000]}")

    def text(self):
        return self.run("document.body ? document.body.innerText : ''")

    def key(self, name, text=None):
        """Presses a key: "Tab", "Enter", "/"."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        event = {"key": name, "code": name, "windowsVirtualKeyCode": codes.get(name, ord(name[0]))}
        if text or len(name) == 1:
            event["text"] = text or name
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, **features):
        """Media features: prefer(**{"prefers-color-scheme": "dark"})."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": n, "value": v} for n, v in features.items()])

    def tree(self):
        """What a screen reader sees: (role, name) of each node that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n.get("role", {}).get("value", ""), n.get("name", {}).get("value", ""))
                for n in nodes if not n.get("ignored")]

    def heap(self):
        """Bytes of JavaScript's heap, after a collection."""
        self.call("HeapProfiler.collectGarbage")
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")

    def screenshot(self, file, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(data))
