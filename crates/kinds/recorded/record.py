#!/usr/bin/env python3
"""Asks a real kube-apiserver what it answers to the cases of this folder and writes the answers beside them.

usage: record.py https://HOST:PORT TOKEN_FILE [FILE.json ...]

Without files, everything is recorded again. README.md says what the files hold.
"""

import json
import pathlib
import re
import ssl
import sys
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
import strategies

HERE = pathlib.Path(__file__).parent
NAMESPACE = "kinds-recorded"
VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generateName"}
ANSWERS = ("errors", "failure", "object", "warnings", "stored", "shown")
# What every recording says where the server made up an identity or looked at its clock.
UID, NOW = "00000000-0000-4000-8000-000000000001", "2026-01-02T03:04:05Z"
MADE_UP = {
    UID: re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    NOW: re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
}


class Server:
    def __init__(self, url, token):
        self.url, self.token, self.resources = url, token, {}
        self.tls = ssl._create_unverified_context()

    def call(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": "Bearer " + self.token, "Content-Type": content_type},
        )
        try:
            with urllib.request.urlopen(request, context=self.tls) as answer:
                return answer.status, json.loads(answer.read()), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), []

    def merge(self, path, patch):
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def remove(self, obj):
        path = self.path(obj, obj["metadata"]["name"])
        if self.call("DELETE", path)[0] < 400:
            self.merge(path, {"metadata": {"finalizers": None}})

    def path(self, obj, name=None, subresource=None):
        version = obj["apiVersion"]
        base = ("/apis/" if "/" in version else "/api/") + version
        if base not in self.resources:
            found = self.call("GET", base)[1]["resources"]
            self.resources[base] = {r["kind"]: r for r in found if "/" not in r["name"]}
        resource = self.resources[base][obj["kind"]]
        namespace = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
        parts = [base + namespace, resource["name"], name, subresource]
        return "/".join(part for part in parts if part)


def lasting(obj):
    obj = dict(obj)
    obj["metadata"] = {k: v for k, v in obj["metadata"].items() if k not in VOLATILE}
    return obj


def unadmitted(pod):
    """A new pod without what admission, and not its kind, put into it."""
    spec = {k: v for k, v in pod["spec"].items() if k not in ("priority", "preemptionPolicy")}
    admitted = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    tolerations = [t for t in spec.pop("tolerations", []) if t.get("key") not in admitted]
    return pod | {"spec": spec | ({"tolerations": tolerations} if tolerations else {})}


def settled(answer, sent):
    """The answer with everything the server made up, that is what nobody sent, replaced by the same word."""
    text, sent = json.dumps(answer), json.dumps(sent)
    for word, pattern in MADE_UP.items():
        text = pattern.sub(lambda found: found[0] if found[0] in sent else word, text)
    return json.loads(text)


def answer(code, body, warnings):
    if code == 422 and body.get("details", {}).get("causes"):
        return {"errors": [f"{c['field']}: {c['message']}" for c in body["details"]["causes"]]}
    if code >= 400:
        return {"failure": body["message"]}
    found = {"object": lasting(body)}
    if warnings:
        found["warnings"] = [json.loads('"' + w.split('"', 1)[1]) for w in warnings]
    return found


def record_create(server, obj):
    found = answer(*server.call("POST", server.path(obj) + "?dryRun=All", obj))
    if obj["kind"] == "Pod" and "object" in found:
        found["object"] = unadmitted(found["object"])
    return found


def make(server, case):
    """Stores the object that a case updates."""
    old = case["old"]
    server.remove(old)
    code, stored, _ = server.call("POST", server.path(old), old)
    for subresource, patch in case.get("then", {}).items():
        if code < 400:
            code, stored, _ = server.merge(server.path(old, old["metadata"]["name"], subresource), patch)
    if code >= 400:
        raise SystemExit(f"{case['case']}: {stored['message']}")
    return stored


def record_update(server, case):
    stored = make(server, case)
    name = case["old"]["metadata"]["name"]
    update = json.loads(json.dumps(case["update"]).replace(UID, stored["metadata"]["uid"]))
    path = server.path(update, name, case.get("subresource"))
    for _ in range(20):
        update["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        code, body, warnings = server.call("PUT", path + "?dryRun=All", update)
        if code != 409:
            break
        # The server's own controllers write some kinds; ask again over what they made of it.
        stored = server.call("GET", server.path(case["old"], name))[1]
    server.remove(case["old"])
    return {"stored": lasting(stored)} | answer(code, body, warnings)


def record_versions(server, case):
    make(server, case)
    old, shown = case["old"], {}
    for version in case["versions"]:
        path = server.path(old | {"apiVersion": version}, old["metadata"]["name"])
        shown[version] = lasting(server.call("GET", path)[1])
    server.remove(old)
    return {"shown": shown}


def record(server, case):
    sent = {k: v for k, v in case.items() if k not in ANSWERS}
    if "create" in case:
        found = record_create(server, case["create"])
    elif "update" in case:
        found = record_update(server, case)
    else:
        found = record_versions(server, case)
    return sent | settled(found, sent)


def rewrite(file, cases):
    lines = [",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in case.items()) for case in cases]
    file.write_text("[{\n" + "\n}, {\n".join(lines) + "\n}]\n")
    print(f"{file.name}: {len(cases)} cases")


def main():
    url, token_file, *files = sys.argv[1:]
    server = Server(url, pathlib.Path(token_file).read_text().strip())
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for file in [pathlib.Path(f) for f in files] or sorted(HERE.rglob("*.json")):
        if file.name == strategies.FILE:
            rewrite(file, strategies.record(server))
        else:
            rewrite(file, [record(server, case) for case in json.loads(file.read_text())])


if __name__ == "__main__":
    main()
