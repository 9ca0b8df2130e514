#!/usr/bin/env python3
"""Checks custom resources against the schema of their own CustomResourceDefinition, by python3-jsonschema.

  check_policies.py DEFINITION FILE    both in JSON; FILE: a List

Prints a line for each field that does not fit. An API server drops fields that the schema does not name, and refuses
them with strict validation: here they are refused.
"""
import json
import pathlib
import sys

import jsonschema

INT_OR_STRING = "x-kubernetes-int-or-string"
KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def strict(schema):
    """A structural schema of Kubernetes as a JSON schema."""
    schema = dict(schema)
    for key in ("properties", "additionalProperties", "items"):
        value = schema.get(key)
        if key == "properties" and value is not None:
            schema[key] = {name: strict(field) for name, field in value.items()}
        elif isinstance(value, dict):
            schema[key] = strict(value)
    if schema.get(INT_OR_STRING):
        schema["type"] = ["integer", "string"]
    if "properties" in schema and not schema.get(KEEPS_UNKNOWN):
        schema.setdefault("additionalProperties", False)
    return schema


def schema_of(definition, version):
    for one in definition["spec"]["versions"]:
        if one["name"] == version:
            return strict(one["schema"]["openAPIV3Schema"])
    return None


def check_object(definition, item):
    name = f"{item.get('kind', '')}/{item.get('metadata', {}).get('name', '')}"
    group, _, version = item.get("apiVersion", "").partition("/")
    schema = schema_of(definition, version)
    if schema is None or group != definition["spec"]["group"] or item.get("kind") != definition["spec"]["names"]["kind"]:
        yield f"{name}: the definition has no {item.get('apiVersion')} {item.get('kind')}"
        return
    jsonschema.Draft4Validator.check_schema(schema)
    for error in jsonschema.Draft4Validator(schema).iter_errors(item):
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        yield f"{name}{path}: {error.message}"


def main():
    definition, objects = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
    problems = [line for item in objects["items"] for line in check_object(definition, item)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems or not objects["items"] else 0


if __name__ == "__main__":
    sys.exit(main())
