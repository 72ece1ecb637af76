#!/usr/bin/env python3
"""Records how a kube-apiserver judges CEL rules: writes recorded/rules.json and recorded/evaluations.json.

Usage: record.py SERVER TOKEN_FILE. Uses CRDs of the group cel-probe.example.com and removes them again.
"""
import json, ssl, sys, time, urllib.request, urllib.error
from pathlib import Path
from corpus import RULES, SPEC, OBJECTS, TRANSITIONS, PLACED

SERVER, TOKEN = sys.argv[1], Path(sys.argv[2]).read_text().strip()
CONTEXT = ssl._create_unverified_context()
GROUP = "cel-probe.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def call(method, path, body=None):
    request = urllib.request.Request(SERVER + path, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, context=CONTEXT) as response:
            return response.status, json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        text = error.read()
        # The server answers in plain text while it does not know a path yet.
        return error.code, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}


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


def causes(answer):
    return [{"field": c.get("field", ""), "message": c["message"]} for c in answer.get("details", {}).get("causes", [])]


def root(spec):
    return {"type": "object", "properties": {"spec": spec}}


def judge(schema):
    status, answer = call("POST", CRDS + "?dryRun=All", crd("probe", schema))
    return [] if status == 201 else causes(answer) or [{"field": "", "message": answer.get("message", str(status))}]


def with_rule(rule):
    spec = dict(SPEC)
    spec["x-kubernetes-validations"] = [rule if isinstance(rule, dict) else {"rule": rule}]
    return spec


rules, accepted = [], []
for rule in RULES:
    verdict = judge(root(with_rule(rule)))
    rules.append({"rule": rule, "causes": verdict})
    if not verdict:
        accepted.append(rule)
for schema in PLACED:
    rules.append({"schema": schema, "causes": judge(schema)})
Path("recorded/rules.json").write_text(json.dumps({"spec": SPEC, "rules": rules}, indent=1, sort_keys=True) + "\n")
print("rules", len(rules), "accepted", len(accepted))

evaluations = []
for start in range(0, len(accepted), 10):
    part = accepted[start:start + 10]
    name = f"eval{start}x"
    spec = {"type": "object", "properties": {f"c{i}": with_rule(rule) for i, rule in enumerate(part)}}
    status, answer = call("POST", CRDS, crd(name, root(spec)))
    if status != 201:
        print("skipped", start, answer.get("message", "")[:300])
        continue
    path = f"/apis/{GROUP}/v1/{name}s"
    for _ in range(100):
        if call("GET", path)[0] == 200:
            break
        time.sleep(0.1)
    time.sleep(0.3)
    for i, rule in enumerate(part):
        for number, value in enumerate(OBJECTS):
            body = {"apiVersion": GROUP + "/v1", "kind": name.capitalize(), "metadata": {"name": "a"}, "spec": {f"c{i}": value}}
            for _ in range(50):
                status, answer = call("POST", path + "?dryRun=All", body)
                if status != 404:
                    break
                time.sleep(0.2)
            found = causes(answer) if status == 422 else [] if status == 201 else [{"field": "?", "message": str(answer)}]
            for cause in found:
                cause["field"] = cause["field"].removeprefix(f"spec.c{i}").lstrip(".")
            evaluations.append({"rule": rule, "object": number, "causes": found})
        for old, new in TRANSITIONS if "oldSelf" in json.dumps(rule) else []:
            body = {"apiVersion": GROUP + "/v1", "kind": name.capitalize(), "metadata": {"name": "old"}, "spec": {f"c{i}": old}}
            status, created = call("POST", path, body)
            if status != 201:
                continue
            created["spec"] = {f"c{i}": new}
            status, answer = call("PUT", path + "/old?dryRun=All", created)
            found = causes(answer) if status == 422 else []
            for cause in found:
                cause["field"] = cause["field"].removeprefix(f"spec.c{i}").lstrip(".")
            evaluations.append({"rule": rule, "old": old, "new": new, "causes": found})
            call("DELETE", path + "/old")
    call("DELETE", CRDS + f"/{name}s.{GROUP}")
out = {"spec": SPEC, "objects": OBJECTS, "evaluations": evaluations}
Path("recorded/evaluations.json").write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
print("evaluations", len(evaluations), "refused", sum(1 for e in evaluations if e["causes"]))
