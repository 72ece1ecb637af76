"""A small client for the recorders: throwaway CRDs of the group cel-probe.example.com."""
import contextlib, json, ssl, time, urllib.request, urllib.error
from pathlib import Path

GROUP = "cel-probe.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Client:
    def __init__(self, server, token_file):
        self.server, self.token = server, Path(token_file).read_text().strip()
        self.context = ssl._create_unverified_context()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.server + path, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Content-Type", "application/json")
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, context=self.context) as response:
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}

    @contextlib.contextmanager
    def kind(self, name, schema):
        kind = name.capitalize()
        status, answer = self.call("POST", CRDS, {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{name}s.{GROUP}"},
            "spec": {
                "group": GROUP, "scope": "Cluster",
                "names": {"plural": name + "s", "singular": name, "kind": kind, "listKind": kind + "List"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        })
        assert status == 201, answer
        path = f"/apis/{GROUP}/v1/{name}s"
        while self.call("GET", path)[0] != 200:
            time.sleep(0.1)
        time.sleep(0.5)
        try:
            yield path
        finally:
            self.call("DELETE", CRDS + f"/{name}s.{GROUP}")

    def judge(self, path, name, new, old):
        body = {"apiVersion": GROUP + "/v1", "kind": name.capitalize(), "metadata": {"name": "a"}, "spec": old or new}
        if old is None:
            status, answer = self.call("POST", path + "?dryRun=All", body)
        else:
            status, created = self.call("POST", path, body)
            if status != 201:
                # An old object that the rules refuse can only come from before they were there.
                return [{"field": "?", "message": "the old object is refused"}]
            created["spec"] = new
            status, answer = self.call("PUT", path + "/a?dryRun=All", created)
            self.call("DELETE", path + "/a")
        if status != 422:
            return []
        return [{"field": c.get("field", ""), "message": c["message"]} for c in answer.get("details", {}).get("causes", [])]
