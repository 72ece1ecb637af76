"""How a real kube-apiserver stores each built-in resource: the rows of strategies/table.json.

For every resource: creates an object, puts and applies to it through its subresources with dryRun=All, deletes it, and notes
what each answer says about the strategy.
"""

import copy
import json
import pathlib

FILE = "table.json"
NAMESPACE = "kinds-recorded"
NAME = "kinds-strategies"
# Kinds whose names mean something.
NAMES = {
    "APIService": "v1.strategies.example.com",
    "IPAddress": "10.99.0.7",
    "CustomResourceDefinition": "foos.strategies.example.com",
}
REQUESTS = pathlib.Path(__file__).with_name("certificate-signing-request.json")
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
JOB_TEMPLATE = {"metadata": TEMPLATE["metadata"], "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"a": "b"}}


def signing_request():
    """A request that a recorded case shows the server to take."""
    cases = json.loads(REQUESTS.read_text())
    return next(case["old"]["spec"]["request"] for case in cases if "old" in case)


# A valid object of every resource, by group, version, resource and kind.
OBJECTS = {
    ("", "v1", "configmaps", "ConfigMap"): {"data": {"a": "b"}},
    ("", "v1", "endpoints", "Endpoints"): {"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]},
    ("", "v1", "events", "Event"): {"involvedObject": {"namespace": NAMESPACE}},
    ("", "v1", "limitranges", "LimitRange"): {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}},
    ("", "v1", "nodes", "Node"): {},
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"): {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
    ("", "v1", "persistentvolumes", "PersistentVolume"): {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp"}},
    },
    ("", "v1", "pods", "Pod"): {"spec": TEMPLATE["spec"]},
    ("", "v1", "podtemplates", "PodTemplate"): {"template": TEMPLATE},
    ("", "v1", "replicationcontrollers", "ReplicationController"): {
        "spec": {"replicas": 0, "selector": {"a": "b"}, "template": TEMPLATE},
    },
    ("", "v1", "resourcequotas", "ResourceQuota"): {"spec": {"hard": {"pods": "100"}}},
    ("", "v1", "secrets", "Secret"): {},
    ("", "v1", "serviceaccounts", "ServiceAccount"): {},
    ("", "v1", "services", "Service"): {"spec": {"ports": [{"port": 80}]}},
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"): {
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["zz"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["zzz"]},
                ],
            },
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
        },
    },
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"): {
        "spec": {"policyName": "zzz"},
    },
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"): {},
    ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"): {
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["zz"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["zzz"]},
                ],
            },
            "validations": [{"expression": "true"}],
        },
    },
    ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"): {
        "spec": {"policyName": "zzz", "validationActions": ["Deny"]},
    },
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"): {},
    ("apiregistration.k8s.io", "v1", "apiservices", "APIService"): {
        "spec": {
            "group": "strategies.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": NAMESPACE, "name": "x"},
            "insecureSkipTLSVerify": True,
        },
    },
    ("apps", "v1", "controllerrevisions", "ControllerRevision"): {"revision": 1, "data": {"a": 1}},
    ("apps", "v1", "daemonsets", "DaemonSet"): {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    ("apps", "v1", "deployments", "Deployment"): {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    ("apps", "v1", "replicasets", "ReplicaSet"): {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    ("apps", "v1", "statefulsets", "StatefulSet"): {
        "spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "x"},
    },
    ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"): {
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}},
    },
    ("batch", "v1", "cronjobs", "CronJob"): {
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}},
    },
    ("batch", "v1", "jobs", "Job"): {"spec": {"template": JOB_TEMPLATE}},
    ("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest"): {
        "spec": {"request": signing_request(), "usages": ["any"], "signerName": "example.com/x"},
    },
    ("coordination.k8s.io", "v1", "leases", "Lease"): {},
    ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"): {"addressType": "IPv4", "endpoints": []},
    ("events.k8s.io", "v1", "events", "Event"): {
        "regarding": {"namespace": NAMESPACE},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "a",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
    },
    ("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema"): {
        "spec": {"priorityLevelConfiguration": {"name": "catch-all"}, "matchingPrecedence": 9000},
    },
    ("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration"): {
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
    },
    ("networking.k8s.io", "v1", "ingressclasses", "IngressClass"): {"spec": {"controller": "a.b/c"}},
    ("networking.k8s.io", "v1", "ingresses", "Ingress"): {
        "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}},
    },
    ("networking.k8s.io", "v1", "ipaddresses", "IPAddress"): {"spec": {"parentRef": {"resource": "a", "name": "b"}}},
    ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"): {"spec": {"podSelector": {}}},
    ("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR"): {"spec": {"cidrs": ["10.99.0.0/24"]}},
    ("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"): {"handler": "a"},
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"): {
        "spec": {"minAvailable": 1, "selector": SELECTOR},
    },
    ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole"): {"rules": []},
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
    },
    ("rbac.authorization.k8s.io", "v1", "roles", "Role"): {"rules": []},
    ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
    },
    ("resource.k8s.io", "v1", "deviceclasses", "DeviceClass"): {"spec": {}},
    ("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"): {"spec": {}},
    ("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"): {"spec": {"spec": {}}},
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"): {
        "spec": {"driver": "a.b", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "allNodes": True},
    },
    ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"): {"value": 1},
    ("storage.k8s.io", "v1", "csidrivers", "CSIDriver"): {"spec": {}},
    ("storage.k8s.io", "v1", "csinodes", "CSINode"): {"spec": {"drivers": []}},
    ("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"): {"storageClassName": "x"},
    ("storage.k8s.io", "v1", "storageclasses", "StorageClass"): {"provisioner": "x"},
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"): {
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}},
    },
    ("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass"): {
        "driverName": "a.b",
        "parameters": {"a": "b"},
    },
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"): {
        "spec": {
            "group": "strategies.example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    },
}


def put(call, item, subresource, change):
    """Puts a changed object with dryRun=All; again when the server itself wrote in between."""
    while True:
        live = call("GET", item)[1]
        changed = copy.deepcopy(live)
        change(changed["metadata"])
        code, answer = call("PUT", item + subresource + "?dryRun=All", changed)
        if code != 409:
            return live, answer


def status_writes(call, item):
    """The metadata a write through the status changes."""

    def change(metadata):
        metadata.setdefault("labels", {})["x"] = "y"
        metadata.setdefault("annotations", {})["x"] = "y"
        metadata["finalizers"] = metadata.get("finalizers", []) + ["example.com/f"]
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]

    metadata = put(call, item, "/status", change)[1]["metadata"]
    marks = {
        "labels": "x" in metadata.get("labels", {}),
        "annotations": "x" in metadata.get("annotations", {}),
        "finalizers": "example.com/f" in metadata.get("finalizers", []),
        "ownerReferences": bool(metadata.get("ownerReferences")),
    }
    return [field for field, written in marks.items() if written]


def applied(call, item, subresource, live):
    """The fields an apply through a subresource comes to own: `metadata.labels`, `spec` and the like."""
    wanted = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
    wanted["metadata"] = {"name": live["metadata"]["name"], "labels": {"ap": "x"}, "annotations": {"ap": "x"}}
    wanted.update({field: live[field] for field in ("spec", "status") if field in live})
    path = item + subresource + "?dryRun=All&fieldManager=me&force=true"
    _, answer = call("PATCH", path, wanted, "application/apply-patch+yaml")
    mine = [entry for entry in answer["metadata"].get("managedFields", []) if entry["manager"] == "me"]
    fields = mine[0]["fieldsV1"] if mine else {}
    top = [field[2:] for field in fields if field != "f:metadata"]
    return sorted(top + ["metadata." + field[2:] for field in fields.get("f:metadata", {})])


def counts(call, item, field):
    live, answer = put(call, item, "", lambda metadata: metadata.setdefault(field, {}).update({"x": "y"}))
    return answer["metadata"].get("generation") != live["metadata"].get("generation")


def metadata_errors(answer):
    """What a refusal says about metadata, in order and as often as it says it."""
    causes = answer.get("details", {}).get("causes", [])
    return [f"{c['field']}: {c['message']}" for c in causes if c["field"].startswith("metadata.")]


def refused_create(call, collection, wanted):
    bad = copy.deepcopy(wanted)
    bad["metadata"] = {"name": "A_b%", "generateName": "A_-", "labels": {"a b": "c"}, "finalizers": ["x"]}
    return metadata_errors(call("POST", collection + "?dryRun=All", bad)[1])


def refused_update(call, item, subresource):
    bad = {"labels": {"a b": "c"}, "finalizers": ["x"]}
    return metadata_errors(put(call, item, subresource, lambda metadata: metadata.update(bad))[1])


def record_resource(call, group, version, resource, kind, body):
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    known = {found["name"]: found for found in call("GET", base)[1]["resources"]}
    collection = base + (f"/namespaces/{NAMESPACE}" if known[resource]["namespaced"] else "") + "/" + resource
    name = NAMES.get(kind, NAME)
    item = f"{collection}/{name}"
    wanted = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, "metadata": {"name": name}, **body}
    found = {"group": group, "resource": resource}
    found["create_on_update"] = call("PUT", item + "?dryRun=All", wanted)[0] == 201
    code, created = call("POST", collection, wanted)
    if code != 201:
        raise SystemExit(f"{resource}: {created['message']}")
    live = call("GET", item)[1]
    found["generation"] = live["metadata"].get("generation")
    _, answer = put(call, item, "", lambda metadata: metadata.pop("resourceVersion"))
    found["unconditional_update"] = answer["kind"] == kind
    found["generation_counts"] = [field for field in ("labels", "annotations") if counts(call, item, field)]
    found["refused_create"] = refused_create(call, collection, wanted)
    found["refused_update"] = refused_update(call, item, "")
    if resource + "/status" in known:
        found["refused_status"] = refused_update(call, item, "/status")
        found["status_writes"] = status_writes(call, item)
        found["applied"] = applied(call, item, "", live)
        found["applied_status"] = applied(call, item, "/status", live)
    answer = call("DELETE", item)[1]
    code, left = call("GET", item)
    finalizers = left["metadata"].get("finalizers", []) if code == 200 else []
    found["orphans"] = "orphan" in finalizers
    if not finalizers:
        found["returns_deleted"] = answer["kind"] != "Status"
    if code == 200:
        left["metadata"]["finalizers"] = []
        call("PUT", item, left)
        call("DELETE", item + "?gracePeriodSeconds=0&propagationPolicy=Background")
    return found


def record(server):
    def call(*request):
        return server.call(*request)[:2]

    return [record_resource(call, *key, body) for key, body in OBJECTS.items()]
