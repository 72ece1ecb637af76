#!/usr/bin/env python3
"""Records how a kube-apiserver judges objects whose rules stand deep in the schema: writes recorded/places.json.

Usage: record_places.py SERVER TOKEN_FILE.
"""
import json, sys
from pathlib import Path

arguments = sys.argv[1:]



def rule(text, **more):
    return {"x-kubernetes-validations": [dict(rule=text, **more)]}


ITEM = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 20}, "v": {"type": "integer", **rule("self == oldSelf", message="v is fixed"), "minimum": 0}}}
SCHEMAS = [
    {"l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10, **rule("self.startsWith('a')")}}},
    {"m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer", **rule("self > 0", messageExpression="self == 0 ? 'zero' : 'negative'")}}},
    {"ml": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM}},
    {"n": {"type": "object", **rule("self.x < self.y", fieldPath=".x", reason="FieldValueForbidden"), "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}},
    {"s": {"type": "string", "maxLength": 10, **rule("self == oldSelf")}, "t": {"type": "string", "maxLength": 10, **rule("self != 'bad'")}},
    {"b": {"type": "boolean", **rule("self", message="must be true")}, "d": {"type": "string", "format": "date-time", **rule("self < timestamp('2020-01-01T00:00:00Z')")}, "x": {"x-kubernetes-int-or-string": True, "maxLength": 10, **rule("type(self) == int ? self < 5 : self.endsWith('%')")}},
    {"e": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True, **rule("self.metadata.name.size() < 5")}},
    {"nul": {"type": "string", "nullable": True, "maxLength": 10, **rule("self == 'x'")}, "num": {"type": "number", **rule("self < 1.5")}},
]
OBJECTS = [
    [({"l": ["a", "b", "c"]}, None), ({"l": []}, None), ({"l": ["b", "a"]}, {"l": ["b"]}), ({"l": ["b"]}, {"l": ["b"]})],
    [({"m": {"a": 1, "b": 0}}, None), ({"m": {"z": -1}}, None), ({"m": {"a": 0, "b": 1}}, None)],
    [({"ml": [{"k": "a", "v": 1}]}, None), ({"ml": [{"k": "a", "v": 2}]}, {"ml": [{"k": "a", "v": 1}]}), ({"ml": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]}, {"ml": [{"k": "a", "v": 1}]})],
    [({"n": {"x": 1, "y": 2}}, None), ({"n": {"x": 3, "y": 2}}, None), ({"n": {"x": 3}}, None)],
    [({"s": "a"}, None), ({"s": "b"}, {"s": "a"}), ({"t": "bad"}, None)],
    [({"b": False}, None), ({"b": True, "d": "2021-01-01T00:00:00Z"}, None), ({"x": 7}, None), ({"x": "7"}, None), ({"x": "7%"}, None)],
    [({"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "toolong"}}}, None), ({"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}, None)],
    [({"nul": None, "num": 1}, None), ({"nul": "y", "num": 2}, None), ({"num": 1.75}, None)],
]


def main():
    from record_client import Client

    client = Client(arguments[0], arguments[1])
    out = []
    for number, (properties, pairs) in enumerate(zip(SCHEMAS, OBJECTS)):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        name = f"place{number}x"
        with client.kind(name, schema) as path:
            for new, old in pairs:
                out.append({"schema": schema, "new": new, "old": old, "causes": client.judge(path, name, new, old)})
    Path("recorded/places.json").write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
    print("places", len(out), "refused", sum(1 for entry in out if entry["causes"]))


if __name__ == "__main__":
    main()
