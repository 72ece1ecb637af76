"""An operator with kopf: a Garden gets a ConfigMap with the labels of its plants, and a Deployment of gardeners."""

import os

import kopf
import kubernetes

# On the gardeners' Deployment, with the name of their Garden.
GARDEN = "example.com/garden"


@kopf.on.login()
def login(**kwargs):
    # $KUBECONFIG as it is now, or the service account of the Pod.
    return kopf.login_with_kubeconfig(**kwargs) or kopf.login_with_service_account(**kwargs)


@kopf.on.startup()
def connect(memo, **_):
    # The client reads $KUBECONFIG when it is imported, which in a test is before the server has started.
    kubernetes.config.load_config(config_file=os.environ.get("KUBECONFIG"))
    memo.client = kubernetes.dynamic.DynamicClient(kubernetes.client.ApiClient())


@kopf.on.create("example.com", "v1", "gardens")
@kopf.on.update("example.com", "v1", "gardens", field="spec")
@kopf.on.resume("example.com", "v1", "gardens")
def plant(spec, name, memo, **_):
    labels = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-labels"},
        "data": {plant: "water me" for plant in spec["plants"]},
    }
    pod = {"app": f"{name}-gardeners"}
    gardeners = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{name}-gardeners", "labels": {GARDEN: name}},
        "spec": {
            "replicas": spec["gardeners"],
            "selector": {"matchLabels": pod},
            "template": {
                "metadata": {"labels": pod},
                "spec": {"containers": [{"name": "gardener", "image": "example.com/gardener:1"}]},
            },
        },
    }
    for child in (labels, gardeners):
        # The Garden becomes its owner: the garbage collector deletes it with the Garden.
        kopf.adopt(child)
        kind = memo.client.resources.get(api_version=child["apiVersion"], kind=child["kind"])
        kind.server_side_apply(
            child,
            name=child["metadata"]["name"],
            namespace=child["metadata"]["namespace"],
            field_manager="garden-operator",
            force_conflicts=True,
        )


@kopf.on.event("apps", "v1", "deployments", labels={GARDEN: kopf.PRESENT})
def report(type, meta, namespace, status, memo, **_):
    if type == "DELETED":
        return
    gardens = memo.client.resources.get(api_version="example.com/v1", kind="Garden")
    try:
        gardens.status.patch(
            {"status": {"readyGardeners": status.get("availableReplicas", 0)}},
            name=meta.labels[GARDEN],
            namespace=namespace,
            content_type="application/merge-patch+json",
        )
    except kubernetes.dynamic.exceptions.NotFoundError:
        pass  # The Garden is gone, and its Deployment will be.
