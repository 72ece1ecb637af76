"""The script of conformance/clients with the official Python client, and its dynamic one."""

import json
import os
import sys

import kubernetes
from kubernetes.stream import portforward, stream

NAMESPACE, POD, CONTAINER = "default", "web", "app"
PORT = int(os.environ.get("POD_PORT", "8080"))
MANAGER = "python-script"


def expect(condition, what):
    if not condition:
        sys.exit(f"unexpected: {what!r}")


def list_pods(core, dynamic):
    pods = core.list_namespaced_pod(NAMESPACE).items
    expect([(pod.metadata.name, pod.status.phase) for pod in pods] == [(POD, "Running")], pods)


def create_and_watch(core, dynamic):
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": MANAGER}, "data": {"a": "1"}})
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.patch_namespaced_config_map(MANAGER, NAMESPACE, {"data": {"a": "2"}})
    watch = kubernetes.watch.Watch()
    for event in watch.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=60):
        expect((event["type"], event["object"].data) == ("MODIFIED", {"a": "2"}), event)
        watch.stop()
        return
    sys.exit("the watch has ended without an event")


def patch(core, dynamic):
    # The kind of a patch is seen by its form: a list is a JSON patch.
    patched = core.patch_namespaced_config_map(MANAGER, NAMESPACE, [{"op": "replace", "path": "/data/a", "value": "json"}])
    expect(patched.data == {"a": "json"}, patched.data)
    patched = core.patch_namespaced_config_map(MANAGER, NAMESPACE, {"data": {"a": "strategic"}})
    expect(patched.data == {"a": "strategic"}, patched.data)


def apply(core, dynamic):
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MANAGER}, "data": {"b": "2"}}
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    applied = maps.server_side_apply(wanted, name=MANAGER, namespace=NAMESPACE, field_manager=MANAGER)
    expect(applied.data.to_dict() == {"a": "strategic", "b": "2"}, applied.data)


def delete(core, dynamic):
    core.delete_namespaced_config_map(MANAGER, NAMESPACE)


def logs(core, dynamic):
    followed = core.read_namespaced_pod_log(
        POD, NAMESPACE, container=CONTAINER, follow=True, tail_lines=0, _preload_content=False
    )
    line = next(iter(followed)).decode()
    expect(line.startswith("tick "), line)
    followed.release_conn()


def execute(core, command, stdin=None):
    """What a command printed on both streams, and its exit code."""
    running = stream(
        core.connect_get_namespaced_pod_exec,
        POD,
        NAMESPACE,
        container=CONTAINER,
        command=command,
        stdin=stdin is not None,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    if stdin is not None:
        running.write_stdin(stdin)
    running.run_forever(timeout=60)
    return running.read_stdout(), running.read_stderr(), running.returncode


def exec_(core, dynamic):
    done = execute(core, ["app", "read-line"], stdin="hello\n")
    expect(done == ("hello\n", "", 0), done)
    done = execute(core, ["app", "fail"])
    expect(done == ("so far so good\n", "oh no\n", 3), done)


def port_forward(core, dynamic):
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, POD, NAMESPACE, ports=str(PORT))
    connection = forwarded.socket(PORT)
    connection.setblocking(True)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
    answer = b""
    while piece := connection.recv(4096):
        answer += piece
    connection.close()
    expect(answer.endswith(b"\r\n\r\nhello from web\n"), (answer, forwarded.error(PORT)))


def refusals(core):
    """Prints what is said where there is no container to connect to."""
    nowhere = {"schedulerName": "nobody", "containers": [{"name": CONTAINER, "image": "app:1"}]}
    core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "nowhere"}, "spec": nowhere})

    def tell(what, ask):
        try:
            ask()
        except Exception as error:
            # A failed handshake makes the client stumble over its own error, which has no body.
            while not isinstance(error, kubernetes.client.ApiException):
                error = error.__context__
            # The line of the status, the headers and the body are one text then.
            first, *_, last = error.reason.split(" -+-+- ") if error.body is None else (error.reason, error.body)
            print(what, error.status, first, json.loads(last)["message"], sep=": ")
        else:
            print(what, "no error", sep=": ")

    for pod in "nowhere", "missing":
        connect = core.connect_get_namespaced_pod_exec
        tell(f"exec, {pod}", lambda: stream(connect, pod, NAMESPACE, container=CONTAINER, command=["app", "cat"], stdout=True))
        tell(f"port-forward, {pod}", lambda: portforward(core.connect_get_namespaced_pod_portforward, pod, NAMESPACE, ports="80"))
    tell("logs, missing", lambda: core.read_namespaced_pod_log("missing", NAMESPACE))
    core.delete_namespaced_pod("nowhere", NAMESPACE)


def main():
    client = kubernetes.config.new_client_from_config(os.environ["KUBECONFIG"])
    core, dynamic = kubernetes.client.CoreV1Api(client), kubernetes.dynamic.DynamicClient(client)
    if sys.argv[1:] == ["refusals"]:
        return refusals(core)
    for name, step in {
        "list": list_pods,
        "create, watch": create_and_watch,
        "patch": patch,
        "apply": apply,
        "delete": delete,
        "logs -f": logs,
        "exec": exec_,
        "port-forward": port_forward,
    }.items():
        step(core, dynamic)
        print("ok", name, flush=True)


main()
