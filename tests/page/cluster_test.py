#!/usr/bin/python3
"""The page of a cluster in a headless Chromium: the built controller, a stub API server, 1,000 nodes with 8 GPUs.

  cluster_test.py BIN [--screenshots DIR] [--updates N]

BIN has kgpu; exits with 77 where there is no browser. --updates: how many changes the tab's memory is
measured over; an hour has 360.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    from browser import Browser, find_program
except ImportError as missing:
    print(f"not run: {missing}: apt-get install python3-websocket")
    sys.exit(77)
if not find_program():
    print("not run: no Chromium: apt-get install chromium-headless-shell")
    sys.exit(77)

OPTIONS = argparse.Namespace(bin="", screenshots="", updates=20)
NODES = 1000
MODELS = ["H100-SXM5-80GB", "A100-SXM4-80GB", "L40S"]


def node(number):
    model = MODELS[number % len(MODELS)]
    bad = 1 if number % 97 == 5 else 0
    ready = "False" if number % 211 == 7 else "True"
    return {"metadata": {"name": f"gpu-{number:04}", "labels": {
                "nvidia.com/gpu.present": "true", f"kgpu.dev/gpu.model.{model}.count": "8"}},
            "status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": str(8 - bad)},
                       "conditions": [{"type": "Ready", "status": "True"},
                                      {"type": "GPUReady", "status": ready, "reason": "DriverNoLibrary",
                                       "message": "run kgpu doctor"}]}}


def pod(number):
    return {"metadata": {"name": f"train-{number}", "namespace": f"team-{number % 7}"},
            "spec": {"nodeName": f"gpu-{number:04}", "containers": [
                {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(1 + number % 6)}}}]},
            "status": {"phase": "Running"}}


class ClusterPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kgpu-cluster-page-")
        kubeconfig = os.path.join(cls.folder, "kubeconfig")
        cls.server = subprocess.Popen([OPTIONS.bin + "/kgpu-sim", "apiserver", "--kubeconfig-out", kubeconfig],
                                      stdout=subprocess.PIPE, text=True)
        for line in cls.server.stdout:
            if "serving on http://" in line:
                cls.api = line.split("http://")[1].split()[0].rstrip(",;")
                break
        for space in range(7):
            cls.ask("POST", "/api/v1/namespaces", {"metadata": {"name": f"team-{space}"}})
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: cls.ask("POST", "/api/v1/nodes", node(n)), range(NODES)))
            list(pool.map(cls.add_pod, range(0, NODES, 2)))
        cls.controller = subprocess.Popen(
            [OPTIONS.bin + "/kgpu", "cluster", "controller", "--kubeconfig", kubeconfig, "--http-address", "127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True)
        for line in cls.controller.stderr:
            if "event=serving" in line:
                cls.address = "http://" + line.split("address=")[1].split()[0]
                break
        # A controller whose log nobody reads would stop.
        cls.reader = threading.Thread(target=lambda: [None for _ in cls.controller.stderr])
        cls.reader.start()
        cls.browser = Browser()
        cls.browser.__enter__()

    @classmethod
    def ask(cls, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPConnection(cls.api)
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")

    @classmethod
    def add_pod(cls, number):
        made = pod(number)
        path = f"/api/v1/namespaces/{made['metadata']['namespace']}/pods"
        cls.ask("POST", path, made)
        cls.ask("PATCH", f"{path}/{made['metadata']['name']}/status", {"status": made["status"]},
                "application/merge-patch+json")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.controller.terminate()
        cls.controller.wait()
        cls.reader.join()
        cls.controller.stderr.close()
        cls.server.terminate()
        cls.server.stdout.close()
        cls.server.wait()
        subprocess.run(["rm", "-rf", cls.folder], check=True)

    def setUp(self):
        begun = time.monotonic()
        self.browser.open(self.address + "/")
        self.browser.wait("document.querySelectorAll('#nodes tbody tr').length === 100", "nodes", patience=60)
        self.paint = time.monotonic() - begun

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def test_a_thousand_nodes(self):
        text = self.browser.text()
        for expected in ("8000", "H100-SXM5-80GB", "team-3", "nvidia.com/gpu", "gpu-0000"):
            self.assertIn(expected, text)
        self.assertIn("900", text, "that more match is said")
        # Every node has its block on the map.
        self.browser.wait("mapPlaces.length === 1000")
        if OPTIONS.screenshots:
            self.browser.screenshot(os.path.join(OPTIONS.screenshots, "cluster.png"))
        print(f"first paint of 1,000 nodes: {self.paint * 1000:.0f} ms")

    def test_the_filter_finds_nodes_with_problems(self):
        self.browser.run("setFilter('DriverNoLibrary')")
        self.browser.wait("document.querySelectorAll('#nodes tbody tr').length === 5")
        self.browser.run("setFilter('gpu-0123')")
        self.browser.wait("document.querySelectorAll('#nodes tbody tr').length === 1")

    def test_a_click_on_the_map_chooses_a_node(self):
        self.browser.wait("mapPlaces.length === 1000")
        self.browser.run("(() => { const c = document.getElementById('map'), r = c.getBoundingClientRect(), p = mapPlaces[3];"
                         "c.dispatchEvent(new MouseEvent('click', {clientX: r.left + p.x + 2, clientY: r.top + p.y + 2})); })()")
        self.browser.wait("document.getElementById('filter').value === 'gpu-0003'")

    def test_a_screen_reader_has_the_table(self):
        tree = self.browser.tree()
        self.assertIn(("heading", "Nodes"), tree)
        self.assertTrue(any(role in ("image", "img") and name.startswith("Map of the nodes") for role, name in tree))

    def test_updates_leave_no_memory_behind(self):
        update = ("(() => { page.time = new Date().toISOString(); page.nodes.forEach((n, i) => { n.used = (n.used + i) % 8;"
                  "n.free = n.total - n.used - n.unhealthy; }); const begun = performance.now(); show();"
                  "return performance.now() - begun; })()")
        times = [self.browser.run(update) for _ in range(5)]
        before = self.browser.heap()
        for _ in range(OPTIONS.updates):
            times.append(self.browser.run(update))
        after = self.browser.heap()
        times.sort()
        print(f"update: median {times[len(times) // 2]:.0f} ms, longest {times[-1]:.0f} ms; heap {before / 2**20:.1f} → "
              f"{after / 2**20:.1f} MiB over {OPTIONS.updates} updates")
        self.assertLess(after, before * 1.2 + 2**20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--screenshots", default="")
    parser.add_argument("--updates", type=int, default=20)
    OPTIONS.__dict__.update(vars(parser.parse_args()))
    unittest.main(argv=[sys.argv[0]], verbosity=2)


if __name__ == "__main__":
    main()
