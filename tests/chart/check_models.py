#!/usr/bin/env python3
"""Checks Kubernetes objects against the models of the official Python client, which are generated from the API's own
OpenAPI. Reads them as text: neither the client nor what it needs is installed.

  check_models.py MODELS FILE    MODELS: the folder kubernetes/client/models; FILE: a List in JSON

Prints a line for each field that the API does not know, has another type, or must have a value. Objects of
custom resources have no model; they must be named in CUSTOM. check_policies.py checks GpuPolicies.
"""
import ast
import json
import pathlib
import re
import sys

CUSTOM = {"PodMonitor", "PrometheusRule", "SecurityContextConstraints", "GpuPolicy"}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "datetime": str}
REQUIRED = re.compile(r'raise ValueError\("Invalid value for `(\w+)`, must not be `None`"\)')


def snake(name):
    """V1DaemonSet → v1_daemon_set, as the client names its files."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


class Models:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.read = {}

    def find(self, name):
        """{field: (type, is required)} of a model; None if there is none."""
        if name not in self.read:
            path = self.folder / (snake(name) + ".py")
            self.read[name] = self.parse(path.read_text()) if path.exists() else None
        return self.read[name]

    @staticmethod
    def parse(text):
        tables = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in (
                    "openapi_types", "attribute_map"):
                tables[node.targets[0].id] = ast.literal_eval(node.value)
        required = set(REQUIRED.findall(text))
        return {tables["attribute_map"][field]: (kind, field in required)
                for field, kind in tables["openapi_types"].items()}


def check(models, value, kind, path):
    """Problems of a value that should be of the client's type `kind`."""
    if kind == "object":
        return
    if kind.startswith("list["):
        if not isinstance(value, list):
            yield f"{path}: must be a list"
            return
        for number, item in enumerate(value):
            yield from check(models, item, kind[5:-1], f"{path}[{number}]")
    elif kind.startswith("dict("):
        if not isinstance(value, dict):
            yield f"{path}: must be a map"
            return
        for key, item in value.items():
            yield from check(models, item, kind[5:-1].split(",", 1)[1].strip(), f"{path}.{key}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{path}: {json.dumps(value)} must be {kind}"
    else:
        yield from check_model(models, value, kind, path)


def check_model(models, value, name, path):
    fields = models.find(name)
    if fields is None:
        yield f"{path}: the client has no model {name}"
    elif not isinstance(value, dict):
        yield f"{path}: must be a map"
    else:
        for key, item in value.items():
            if key not in fields:
                yield f"{path}.{key}: unknown field of {name}"
            elif item is not None:
                yield from check(models, item, fields[key][0], f"{path}.{key}")
        for key, (_, is_required) in fields.items():
            if is_required and value.get(key) is None:
                yield f"{path}.{key}: must be set"


def check_object(models, item):
    kind = item.get("kind", "")
    if kind in CUSTOM:
        return
    version = item.get("apiVersion", "").split("/")[-1]
    name = item.get("metadata", {}).get("name", "")
    yield from check_model(models, item, version.capitalize() + kind, f"{kind}/{name}")


def main():
    models = Models(sys.argv[1])
    items = json.loads(pathlib.Path(sys.argv[2]).read_text())["items"]
    problems = [line for item in items for line in check_object(models, item)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems or not items else 0


if __name__ == "__main__":
    sys.exit(main())
