"""What the operator promises, on a real API server with Pods."""

from pathlib import Path

import kubernetes
import pytest
import yaml
from kopf.testing import KopfRunner

HERE = Path(__file__).parent
OPERATOR = HERE.parent / "garden_operator.py"
DEFINITION = HERE.parent.parent / "garden-crd.yaml"


@pytest.fixture(scope="session")
def gardens(cluster):
    """The kind, once it is established."""
    definitions = cluster.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    definitions.create(yaml.safe_load(DEFINITION.read_text()))
    return cluster.kind("example.com/v1", "Garden")


@pytest.fixture
def operator(gardens, namespace):
    """The operator at work in the test's namespace."""
    with KopfRunner(["run", "--standalone", "--namespace", namespace, str(OPERATOR)], timeout=30):
        yield


def garden(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Garden", "metadata": {"name": "roses"}, "spec": spec}


def test_a_garden_gets_labels_for_its_plants(cluster, gardens, namespace, operator):
    gardens.create(garden(plants=["rose"]), namespace=namespace)
    labels = cluster.kind("v1", "ConfigMap")
    cluster.eventually(labels, "roses-labels", namespace, lambda labels: labels.data.to_dict() == {"rose": "water me"})

    gardens.patch({"spec": {"plants": ["tulip"]}}, name="roses", namespace=namespace, content_type="application/merge-patch+json")
    cluster.eventually(labels, "roses-labels", namespace, lambda labels: labels.data.to_dict() == {"tulip": "water me"})


def test_gardeners_are_counted_when_their_pods_are_ready(cluster, gardens, namespace, operator):
    gardens.create(garden(plants=["rose"], gardeners=2), namespace=namespace)
    cluster.eventually(gardens, "roses", namespace, lambda garden: garden.status and garden.status.readyGardeners == 2)
    pods = cluster.kind("v1", "Pod").get(namespace=namespace, label_selector="app=roses-gardeners")
    assert [pod.status.phase for pod in pods.items] == ["Running", "Running"]


def test_what_a_garden_had_goes_with_it(cluster, gardens, namespace, operator):
    labels = cluster.kind("v1", "ConfigMap")
    gardens.create(garden(plants=["rose"]), namespace=namespace)
    cluster.eventually(labels, "roses-labels", namespace, lambda labels: True)

    gardens.delete(name="roses", namespace=namespace)
    cluster.eventually_gone(labels, "roses-labels", namespace)


def test_a_garden_without_plants_is_refused(gardens, namespace):
    with pytest.raises(kubernetes.dynamic.exceptions.UnprocessibleEntityError) as refused:
        gardens.create(garden(plants=[]), namespace=namespace)
    assert "spec.plants in body should have at least 1 items" in refused.value.summary()
