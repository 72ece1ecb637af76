"""Fixtures for tests against `kubewright apiserver`: a server for all tests, and a namespace for each.

Copy this file; nothing in it knows the operator.
"""

import os
import shutil
import subprocess
from pathlib import Path

import kubernetes
import pytest


class Server:
    """A running `kubewright apiserver`."""

    def __init__(self, folder: Path, *flags: str):
        command = os.environ.get("KUBEWRIGHT", "kubewright")
        if shutil.which(command) is None:
            raise FileNotFoundError(f"there is no command {command}: install kubewright, or say where it is by $KUBEWRIGHT")
        self.kubeconfig = folder / "kubeconfig"
        self._process = subprocess.Popen(
            [command, "apiserver", "--secure-port=0", f"--kubeconfig-out={self.kubeconfig}", "--stop-with-stdin", *flags],
            # The server ends when this pipe does: also if the tests are killed.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # It prints its address once it answers and the kubeconfig is written. No line means that it has failed; why is on stderr.
        if not self._process.stdout.readline():
            raise RuntimeError(f"the API server has not started: exit code {self._process.wait()}")

    def stop(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Cluster:
    """A client of the server, and questions that wait for their answer."""

    def __init__(self, kubeconfig: Path):
        self.kubeconfig = kubeconfig
        self.client = kubernetes.config.new_client_from_config(str(kubeconfig))
        self.dynamic = kubernetes.dynamic.DynamicClient(self.client)

    def kind(self, api_version: str, kind: str):
        return self.dynamic.resources.get(api_version=api_version, kind=kind)

    def eventually(self, kind, name: str, namespace: str, is_so, seconds: int = 30):
        """Returns the object once `is_so` of it. It is asked when the object changes, so that nothing sleeps."""
        last = None
        for event in kind.watch(namespace=namespace, name=name, timeout=seconds):
            last = event["object"]
            if event["type"] != "DELETED" and is_so(last):
                return last
        raise AssertionError(f"{kind.kind} {namespace}/{name} after {seconds} s: {last}")

    def eventually_gone(self, kind, name: str, namespace: str, seconds: int = 30):
        """Returns once there is no such object."""
        # A watch from this list on misses no deletion.
        before = kind.get(namespace=namespace, field_selector=f"metadata.name={name}")
        if not before.items:
            return
        version = before.metadata.resourceVersion
        for event in kind.watch(namespace=namespace, name=name, resource_version=version, timeout=seconds):
            if event["type"] == "DELETED":
                return
        raise AssertionError(f"{kind.kind} {namespace}/{name} is still there after {seconds} s")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A cluster for all tests: an API server, the standard controllers, and a simulated node on which Pods become ready."""
    server = Server(tmp_path_factory.mktemp("kubewright"), "--controllers=all")
    try:
        os.environ["KUBECONFIG"] = str(server.kubeconfig)
        yield Cluster(server.kubeconfig)
    finally:
        server.stop()


@pytest.fixture
def namespace(cluster):
    """A namespace for one test. It goes with the server."""
    made = cluster.kind("v1", "Namespace").create({"metadata": {"generateName": "test-"}})
    return made.metadata.name
