#!/usr/bin/env python3
"""Records which failed rules a kube-apiserver lets pass on update: writes recorded/ratchets.json.

Usage: record_ratchets.py SERVER TOKEN_FILE. The old object is stored before the CRD gets its rules. Uses CRDs of the
group cel-ratchets.example.com and removes them again.
"""
import copy, json, ssl, sys, time, urllib.request, urllib.error
from pathlib import Path

SERVER, TOKEN = sys.argv[1], Path(sys.argv[2]).read_text().strip()
CONTEXT = ssl._create_unverified_context()
GROUP = "cel-ratchets.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

INT = {"type": "integer"}
RULES = "x-kubernetes-validations"


def obj(properties, *rules, **more):
    out = {"type": "object", "properties": properties, **more}
    if rules:
        out[RULES] = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return out


def ruled(schema, *rules):
    return {**schema, RULES: [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]}


def lst(items, **more):
    return {"type": "array", "maxItems": 10, "items": items, **more}


POSITIVE = ruled(INT, "self > 0")
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEM = obj({"k": {"type": "string"}, "v": INT, "o": obj({"w": POSITIVE})}, "self.v > 0", required=["k"])
TWO = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "n"]}
TWO_ITEM = obj({"k": {"type": "string"}, "n": INT, "v": INT}, "self.v > 0", required=["k", "n"])
META = {"metadata": {"type": "object"}}

# Each case: the schema of the whole object, the old and the new one without metadata.name.
A, B = {"spec": {"a": -1, "b": 1}}, {"spec": {"a": -1, "b": 2}}
LABELLED = {"metadata": {"labels": {"x": "y"}}}
CASES = [
    (obj({"spec": obj({"a": POSITIVE, "b": INT})}), A, B),
    (obj({"spec": obj({"a": POSITIVE, "b": INT})}), A, {"spec": {"a": -2, "b": 1}}),
    (obj({"spec": obj({"a": POSITIVE, "b": INT})}), {"spec": {"b": 1}}, {"spec": {"a": -2, "b": 1}}),
    (obj({"spec": obj({"a": INT, "b": INT})}, "self.spec.a > 0"), A, A),
    (obj({"spec": obj({"a": INT, "b": INT})}, "self.spec.a > 0"), A, {**A, **LABELLED}),
    (obj({"spec": obj({"a": INT, "b": INT}), **META}, "self.spec.a > 0"), A, A),
    (obj({"spec": obj({"a": INT, "b": INT}, "self.a > 0")}), A, {**A, **LABELLED}),
    (obj({"spec": obj({"a": INT, "b": INT}, "self.a > 0")}), A, B),
    (obj({"spec": obj({"l": lst(ITEM, **KEYED), "b": INT})}),
     {"spec": {"l": [{"k": "a", "v": 0}, {"k": "b", "v": 1}]}}, {"spec": {"l": [{"k": "b", "v": 1}, {"k": "a", "v": 0}], "b": 1}}),
    (obj({"spec": obj({"l": ruled(lst(ITEM, **KEYED), "self.exists(e, e.k == 'z')"), "b": INT})}),
     {"spec": {"l": [{"k": "a", "v": 0}, {"k": "b", "v": 1}]}}, {"spec": {"l": [{"k": "b", "v": 1}, {"k": "a", "v": 0}], "b": 1}}),
    (obj({"spec": obj({"l": lst(ITEM, **KEYED)})}),
     {"spec": {"l": [{"k": "a", "v": 0}, {"k": "b", "v": 1}]}}, {"spec": {"l": [{"k": "b", "v": 0}, {"k": "a", "v": 0}]}}),
    (obj({"spec": obj({"l": lst(ITEM, **KEYED)})}),
     {"spec": {"l": [{"k": "a", "v": 1, "o": {"w": 0}}]}}, {"spec": {"l": [{"k": "a", "v": 2, "o": {"w": 0}}]}}),
    (obj({"spec": obj({"l": lst(ITEM, **KEYED)})}),
     {"spec": {"l": [{"k": "a", "v": 1, "o": {"w": 0}}]}}, {"spec": {"l": [{"k": "c", "v": 1, "o": {"w": 0}}]}}),
    (obj({"spec": obj({"l": lst(TWO_ITEM, **TWO)})}),
     {"spec": {"l": [{"k": "a", "n": 1, "v": 0}, {"k": "a", "n": 2, "v": 0}]}},
     {"spec": {"l": [{"k": "a", "n": 2, "v": 0}, {"k": "a", "n": 3, "v": 0}]}}),
    (obj({"spec": obj({"l": lst(POSITIVE), "b": INT})}), {"spec": {"l": [-1, 2]}}, {"spec": {"l": [-1, 2], "b": 1}}),
    (obj({"spec": obj({"l": lst(POSITIVE), "b": INT})}), {"spec": {"l": [-1, 2]}}, {"spec": {"l": [-1, 3]}}),
    (obj({"spec": obj({"l": lst(POSITIVE, **{"x-kubernetes-list-type": "set"}), "b": INT})}),
     {"spec": {"l": [-1, 2]}}, {"spec": {"l": [2, -1]}}),
    (obj({"spec": obj({"l": lst(POSITIVE, **{"x-kubernetes-list-type": "set"}), "b": INT})}),
     {"spec": {"l": [-1, 2]}}, {"spec": {"l": [-1, 2], "b": 4}}),
    (obj({"spec": obj({"m": {"type": "object", "additionalProperties": POSITIVE, "maxProperties": 5}})}),
     {"spec": {"m": {"a": -1}}}, {"spec": {"m": {"a": -1, "b": -1}}}),
    (obj({"spec": obj({"a": INT}, "self.a > 0", **{"x-kubernetes-preserve-unknown-fields": True})}),
     {"spec": {"a": -1, "u": 1}}, {"spec": {"a": -1, "u": 1}, **LABELLED}),
    (obj({"spec": obj({"a": INT}, "self.a > 0", **{"x-kubernetes-preserve-unknown-fields": True})}),
     {"spec": {"a": -1}}, {"spec": {"a": -1}, **LABELLED}),
    (obj({"spec": obj({"a": INT, "b": INT}, {"rule": "self.a > 5 && oldSelf.hasValue()", "optionalOldSelf": True,
                                            "messageExpression": "oldSelf.value().a < 0 ? 'was less' : 'was more'"})}), A, B),
    (obj({"spec": obj({"a": INT, "b": INT}, {"rule": "self.a > 5", "messageExpression": "oldSelf.a < 0 ? 'was less' : 'was more'"})}), A, B),
    (obj({"spec": obj({"a": INT, "b": INT}, {"rule": "self.a > 5", "messageExpression": "oldSelf.a < 0 ? 'was less' : 'was more'"},
                      "self.b == oldSelf.b")}), A, B),
    (obj({"spec": obj({"a": INT, "b": INT}, "self.a > oldSelf.a")}), A, {**A, **LABELLED}),
    (obj({"spec": obj({"a": {**POSITIVE, "nullable": True}, "b": INT})}), {"spec": {"a": None}}, {"spec": {"a": -1}}),
    (obj({"spec": obj({"a": ruled({**INT, "nullable": True}, "self > oldSelf")})}), {"spec": {"a": None}}, {"spec": {"a": -1}}),
    (obj({"spec": obj({"m": ruled({"type": "object", "additionalProperties": INT, "maxProperties": 5},
                                  {"rule": "!('x' in self)", "fieldPath": ".x"})})}), {"spec": {"m": {}}}, {"spec": {"m": {"x": 1}}}),
    (obj({"spec": obj({"m": ruled({"type": "object", "additionalProperties": INT, "maxProperties": 5},
                                  {"rule": "!('x' in self)", "fieldPath": "['x']"})})}), {"spec": {"m": {}}}, {"spec": {"m": {"x": 1}}}),
    (obj({"spec": obj({"a": POSITIVE, "o": obj({"c": POSITIVE}, "self.c > 1")}, "self.a > 1")}),
     {"spec": {"a": 1}}, {"spec": {"a": 0, "o": {"c": 0}}}),
    (obj({"kind": ruled({"type": "string"}, "self == 'none'"), "spec": obj({"a": INT})}), {"spec": {"a": 1}}, {"spec": {"a": 1}, **LABELLED}),
    (obj({"spec": obj({"a": ruled({"x-kubernetes-int-or-string": True}, "self == 1")})}), {"spec": {"a": "x"}}, {"spec": {"a": "x"}, **LABELLED}),
]


def call(method, path, body=None):
    request = urllib.request.Request(SERVER + path, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, context=CONTEXT, timeout=20) as response:
            return response.status, json.loads(response.read() or b"{}"), response.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        text = error.read()
        answer = json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
        return error.code, answer, error.headers.get_all("Warning") or []


def crd(name, schema):
    kind = name.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.{GROUP}"},
        "spec": {
            "group": GROUP, "scope": "Cluster",
            "names": {"plural": name + "s", "singular": name, "kind": kind, "listKind": kind + "List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def without_rules(schema):
    if isinstance(schema, list):
        return [without_rules(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: without_rules(part) for name, part in schema.items() if name not in (RULES, "allOf")}


def name_of(number):
    return "ratchet" + "abcdefghijklmnopqrstuvwxyz"[number // 26] + "abcdefghijklmnopqrstuvwxyz"[number % 26]


def body(number, content, created=None):
    out = {"apiVersion": GROUP + "/v1", "kind": name_of(number).capitalize(), **copy.deepcopy(content)}
    out["metadata"] = {**(created or {}).get("metadata", {}), **out.get("metadata", {}), "name": "one"}
    return out


for number, (schema, _, _) in enumerate(CASES):
    status, answer, _ = call("POST", CRDS, crd(name_of(number), without_rules(schema)))
    assert status == 201, answer
created = []
for number, (_, old, _) in enumerate(CASES):
    path = f"/apis/{GROUP}/v1/{name_of(number)}s"
    for _ in range(100):
        status, answer, _ = call("POST", path, body(number, old))
        if status != 404:
            break
        time.sleep(0.2)
    assert status == 201, (number, answer)
    created.append(answer)
for number, (schema, _, _) in enumerate(CASES):
    _, current, _ = call("GET", CRDS + f"/{name_of(number)}s.{GROUP}")
    current["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    status, answer, _ = call("PUT", CRDS + f"/{name_of(number)}s.{GROUP}", current)
    assert status == 200, (number, answer)
time.sleep(5)
recorded = []
for number, (schema, _, new) in enumerate(CASES):
    path = f"/apis/{GROUP}/v1/{name_of(number)}s/one?dryRun=All"
    sent = body(number, new, created[number])
    status, answer, warnings = call("PUT", path, sent)
    causes = [{"field": c.get("field", ""), "message": c["message"]} for c in answer.get("details", {}).get("causes", [])]
    assert status == 200 or causes, (number, status, answer)
    recorded.append({"schema": schema, "old": created[number], "new": sent, "causes": causes,
                     "warnings": [json.loads(w[w.index('"'):]) for w in warnings]})
    call("DELETE", CRDS + f"/{name_of(number)}s.{GROUP}")
Path("recorded/ratchets.json").write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
print("ratchets", len(recorded), "refused", sum(1 for r in recorded if r["causes"]), "warned", sum(1 for r in recorded if r["warnings"]))
