#!/usr/bin/python3
"""The page of a node in a headless Chromium: the built agent on a simulated host with users and faults.

  node_test.py BIN [--screenshots DIR]    BIN has kgpu; exits with 77 where there is no browser
"""
import argparse
import http.server
import json
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    from browser import Browser, find_program
except ImportError as missing:
    print(f"not run: {missing}: apt-get install python3-websocket")
    sys.exit(77)
if not find_program():
    print("not run: no Chromium: apt-get install chromium-headless-shell")
    sys.exit(77)

OPTIONS = argparse.Namespace(bin="", screenshots="")
PODS = 4


class Node:
    """An agent on a simulated host, a kubelet, pods with GPUs."""

    def __init__(self, profile="8xH100-SXM5-80GB", config=""):
        self.folder = tempfile.mkdtemp(prefix="kgpu-page-")
        self.at = lambda name: os.path.join(self.folder, name)
        self.env = {**os.environ, "KGPU_HOST_ROOT": self.at("host"), "KGPU_ENGINE_ROOT": "/"}
        with open(self.at("config.yaml"), "w") as file:
            file.write("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                       "plugin: {deviceListStrategy: device-specs}\n" + config)
        self.sim("create", self.at("host"), "--profile", profile)
        self.sim("kubelet", "start", self.at("kubelet"))
        self.agent = subprocess.Popen(
            [OPTIONS.bin + "/kgpu", "agent", "--kubelet-dir", self.at("kubelet"), "--run-dir", self.at("run"),
             "--state-dir", self.at("state"), "--config", self.at("config.yaml"), "--http-address", "127.0.0.1:0"],
            env=self.env, stderr=subprocess.PIPE, text=True)
        self.address = ""
        for line in self.agent.stderr:
            if "metrics endpoint started" in line:
                self.address = "http://" + dict(p.split("=", 1) for p in line.split() if "=" in p)["address"]
                break
        # An agent whose log nobody reads would stop.
        self.reader = threading.Thread(target=lambda: [None for _ in self.agent.stderr])
        self.reader.start()
        self.sim("kubelet", "wait", self.at("kubelet"), "--resource", "nvidia.com/gpu", "--allocatable", profile.split("x")[0])

    def sim(self, *words):
        subprocess.run([OPTIONS.bin + "/kgpu", "sim", *words], check=True, env=self.env, stdout=subprocess.DEVNULL)

    def live(self):
        with urllib.request.urlopen(self.address + "/live") as answer:
            return json.load(answer)

    def close(self):
        self.agent.send_signal(signal.SIGTERM)
        self.agent.wait()
        self.reader.join()
        self.agent.stderr.close()
        self.sim("kubelet", "stop", self.at("kubelet"))
        self.sim("delete", self.at("host"))
        subprocess.run(["rm", "-rf", self.folder], check=True)


FUNCTIONS = {"Functions": [{"Name": "hello", "InvocationCount": "7", "Kgpu": {
    "state": "running", "waiting": 2, "problem": "data: of another event", "replicaList": [{"id": "r1", "state": "running", "gpus": [], "phases": {
        "loan": 2, "container": 180, "worker_start": 60, "worker_ready": 900}}]}}]}


class Service(http.server.BaseHTTPRequestHandler):
    """What the page asks kgpu's function service for."""

    def do_GET(self):
        body = json.dumps(FUNCTIONS if self.path == "/system/functions" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return ""

    def log_message(self, *_):
        pass


class NodePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()
        for pod in range(PODS):
            cls.node.sim("kubelet", "pod", cls.node.at("kubelet"), f"train-{pod}", "--resource", "nvidia.com/gpu=1")
        cls.node.sim("util", cls.node.at("host"), "1", "--gpu", "73")
        cls.node.sim("process", cls.node.at("host"), "6", "--pid", "4711", "--memory", "20Gi", "--sm", "40")
        cls.node.sim("throttle", cls.node.at("host"), "2", "hw-thermal")
        cls.node.sim("xid", cls.node.at("host"), "3", "79")
        cls.service = socketserver.ThreadingUnixStreamServer(cls.node.at("run/functions.sock"), Service)
        threading.Thread(target=cls.service.serve_forever, daemon=True).start()
        cls.browser = Browser()
        cls.browser.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.service.shutdown()
        cls.service.server_close()
        cls.node.close()

    def setUp(self):
        self.browser.open(self.node.address + "/")
        self.browser.wait("document.querySelectorAll('.gpu').length === 8")

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def shot(self, name, whole=True):
        if OPTIONS.screenshots:
            self.browser.screenshot(os.path.join(OPTIONS.screenshots, name + ".png"), whole)

    def test_every_view_has_its_data(self):
        self.browser.wait("document.querySelectorAll('#users tbody tr').length >= 4", "pods in the table")
        text = self.browser.text()
        for expected in ("H100-SXM5-80GB", "default/train-0", "Xid79", "restart the host", "NUMA 0", "nvidia.com/gpu",
                         "Throttled: hardware thermal", "(4711)", "outside of pods"):
            self.assertIn(expected, text)
        self.browser.wait("document.querySelector('#gpu-1').innerText.includes('73 %')", "the utilization")
        self.browser.wait("document.querySelector('#events').innerText.includes('raised')", "the event")
        self.shot("node")

    def test_functions_show_their_cold_starts(self):
        self.browser.wait("document.querySelectorAll('#functions tbody tr').length === 1")
        text = self.browser.run("document.querySelector('#functions').innerText")
        self.assertIn("hello", text)
        self.assertIn("worker_ready 900 ms", text)
        self.assertIn("data: of another event", text)

    def test_it_follows_the_node(self):
        self.node.sim("util", self.node.at("host"), "5", "--gpu", "91")
        self.browser.wait("document.querySelector('#gpu-5').innerText.includes('91 %')")
        self.node.sim("util", self.node.at("host"), "5", "--gpu", "12")
        self.browser.wait("document.querySelector('#gpu-5').innerText.includes('12 %')")

    def test_the_keyboard_is_enough(self):
        self.browser.key("/")
        self.browser.wait("document.activeElement.id === 'filter'")
        for letter in "xid79":
            self.browser.key(letter)
        self.browser.wait("document.querySelectorAll('.gpu').length === 1", "the filter")
        self.assertEqual(self.browser.run("document.activeElement.id"), "filter", "the focus stays")
        # Through a few updates.
        before = self.browser.run("document.getElementById('state').textContent")
        self.browser.wait(f"document.getElementById('state').textContent !== '{before}'")
        self.assertEqual(self.browser.run("document.getElementById('filter').value"), "xid79")
        self.browser.key("Escape")
        self.browser.wait("document.querySelectorAll('.gpu').length === 8")
        reached = set()
        for _ in range(40):
            self.browser.key("Tab")
            reached.add(self.browser.run("document.activeElement.id || document.activeElement.getAttribute('aria-label') "
                                         "|| document.activeElement.getAttribute('href')"))
        for control in ("language", "theme", "Users", "#gpu-0", "live", "metrics"):
            self.assertIn(control, reached)

    def test_a_screen_reader_has_names_for_all(self):
        tree = self.browser.tree()
        roles = [role for role, _ in tree]
        self.assertIn(("heading", "GPUs"), tree)
        self.assertTrue(any(role == "article" and "GPU 3" in name and "unhealthy" in name for role, name in tree), tree)
        self.assertTrue(any(role in ("image", "img") and "Utilization: 73" in name for role, name in tree))
        self.assertTrue(any(role in ("image", "img") and name.startswith("NVLink:") for role, name in tree))
        for role in ("banner", "main", "navigation", "contentinfo", "table", "columnheader", "status"):
            self.assertIn(role, roles)
        for role, name in tree:
            if role in ("image", "img", "searchbox", "combobox", "link", "button", "region"):
                self.assertTrue(name, f"a {role} has no name")

    def test_each_language_is_whole(self):
        for language, word in (("ko", "메모리"), ("zh", "显存"), ("ja", "メモリ"), ("en", "Memory")):
            self.browser.run(f"(e => {{e.value = '{language}'; e.dispatchEvent(new Event('change'));}})"
                             "(document.getElementById('language'))")
            self.browser.wait(f"document.querySelector('#gpu-0').innerText.includes('{word}')", language)
            self.assertTrue(self.browser.run("document.documentElement.lang").startswith(language))
            self.assertEqual("GPUs" in self.browser.text(), language == "en", f"an English word in {language}")
            self.assertRegex(self.browser.run("document.getElementById('state').textContent"), r" \d\d:\d\d:\d\d$")
            self.shot(f"node-{language}", whole=False)
        self.assertNotIn("undefined", self.browser.text())

    def test_dark_light_and_narrow(self):
        background = "getComputedStyle(document.body).backgroundColor"
        self.browser.prefer(**{"prefers-color-scheme": "light"})
        light = self.browser.run(background)
        self.browser.prefer(**{"prefers-color-scheme": "dark"})
        self.browser.wait(f"{background} !== '{light}'", "a dark page")
        self.shot("node-dark", whole=False)
        self.browser.size(340, 800)
        self.browser.wait("document.documentElement.clientWidth <= 340")
        self.assertEqual(self.browser.run(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && "
            "e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
            ".map(e => `${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`)"), [])
        self.assertEqual(self.browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
        self.shot("node-narrow", whole=False)
        self.browser.size(1300, 900)
        self.browser.prefer()

    def test_an_agent_that_is_away_is_said(self):
        other = Node("2xL40S")
        try:
            self.browser.open(other.address + "/")
            self.browser.wait("document.querySelectorAll('.gpu').length === 2")
        finally:
            other.close()
        self.browser.wait("document.getElementById('state').className === 'bad'", "the agent has gone")
        self.assertEqual(self.browser.run("document.querySelectorAll('.gpu').length"), 2, "what is known stays")
        self.browser.open(self.node.address + "/")
        self.browser.wait("document.querySelectorAll('.gpu').length === 8")
        self.browser.errors = [e for e in self.browser.errors if "Failed to load resource" not in e]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--screenshots", default="")
    OPTIONS.__dict__.update(vars(parser.parse_args()))
    unittest.main(argv=[sys.argv[0]], verbosity=2)


if __name__ == "__main__":
    main()
