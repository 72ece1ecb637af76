package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	cadvisor "github.com/google/cadvisor/info/v1"
	cadvisorv2 "github.com/google/cadvisor/info/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// errUnmeasured is why there are no figures.
var errUnmeasured = errors.New("nothing is measured")

// host is what the kubelet of a node knows: the Pods of the API server that are bound to it, or to any node if it has no name. Its refusals
// are in the words of k8s.io/kubernetes/pkg/kubelet, whose server asks it.
type host struct {
	node     string
	client   kubernetes.Interface
	streams  streaming.Server
	measures bool
}

func (h *host) connect(kubeconfig string) error {
	if kubeconfig == "" {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	h.client, err = kubernetes.NewForConfig(config)
	return err
}

func (h *host) GetPods() []*v1.Pod {
	if h.client == nil {
		return nil
	}
	selector := "spec.nodeName!="
	if h.node != "" {
		selector = "spec.nodeName=" + h.node
	}
	list, err := h.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil
	}
	pods := make([]*v1.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods
}

func (h *host) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	if h.client == nil {
		return nil, false
	}
	pod, err := h.client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
	return pod, err == nil && (h.node == "" || pod.Spec.NodeName == h.node)
}

// GetRunningPods has what a runtime tells of Pods.
func (h *host) GetRunningPods(context.Context) ([]*v1.Pod, error) {
	var running []*v1.Pod
	for _, pod := range h.GetPods() {
		told := kubecontainer.Pod{ID: pod.UID, Name: pod.Name, Namespace: pod.Namespace}
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running != nil {
				told.Containers = append(told.Containers, &kubecontainer.Container{Name: status.Name, Image: status.Image})
			}
		}
		if len(told.Containers) > 0 {
			running = append(running, told.ToAPIPod())
		}
	}
	return running, nil
}

// findContainer checks that a Pod has a container.
func (h *host) findContainer(podFullName, container string) error {
	name, namespace, err := kubecontainer.ParsePodFullName(podFullName)
	if err != nil {
		return err
	}
	pod, found := h.GetPodByName(namespace, name)
	if !found || kubecontainer.GetContainerSpec(pod, container) == nil {
		return fmt.Errorf("container not found (%q)", container)
	}
	return nil
}

// RunInContainer runs a command to its end, as the kubelet asks runtimes to.
func (h *host) RunInContainer(ctx context.Context, podFullName string, _ types.UID, container string, command []string) ([]byte, error) {
	if err := h.findContainer(podFullName, container); err != nil {
		return nil, err
	}
	var out, messages buffer
	err := containers{}.Exec(ctx, container, command, strings.NewReader(""), &out, &messages, false, nil)
	var code exitCode
	if errors.As(err, &code) {
		err = fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), int(code), messages.String())
	}
	// Nothing is nil, as it comes from a runtime.
	return append([]byte(nil), out.String()+messages.String()...), err
}

// buffer is a stream that keeps what is written.
type buffer struct{ strings.Builder }

func (*buffer) Close() error { return nil }

func (h *host) GetExec(_ context.Context, podFullName string, _ types.UID, container string, command []string, options remotecommand.Options) (*url.URL, error) {
	if err := h.findContainer(podFullName, container); err != nil {
		return nil, err
	}
	answer, err := h.streams.GetExec(&runtimeapi.ExecRequest{
		ContainerId: container, Cmd: command,
		Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
	})
	return location(answer.GetUrl(), err)
}

func (h *host) GetAttach(_ context.Context, podFullName string, _ types.UID, container string, options remotecommand.Options) (*url.URL, error) {
	if h.findContainer(podFullName, container) != nil {
		return nil, fmt.Errorf("container %s not found in pod %s", container, podFullName)
	}
	answer, err := h.streams.GetAttach(&runtimeapi.AttachRequest{
		ContainerId: container,
		Stdin:       options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
	})
	return location(answer.GetUrl(), err)
}

func (h *host) GetPortForward(_ context.Context, podName, _ string, _ types.UID, options portforward.V4Options) (*url.URL, error) {
	answer, err := h.streams.GetPortForward(&runtimeapi.PortForwardRequest{PodSandboxId: podName, Port: options.Ports})
	return location(answer.GetUrl(), err)
}

func location(where string, err error) (*url.URL, error) {
	if err != nil {
		return nil, err
	}
	return url.Parse(where)
}

func (*host) GetKubeletContainerLogs(ctx context.Context, podFullName, container string, options *v1.PodLogOptions, stdout, _ io.Writer) error {
	if options.Previous {
		name, _, _ := kubecontainer.ParsePodFullName(podFullName)
		return fmt.Errorf("previous terminated container %q in pod %q not found", container, name)
	}
	return readLogs(ctx, container, options, stdout)
}

func (*host) CheckpointContainer(context.Context, types.UID, string, string, *runtimeapi.CheckpointContainerRequest) error {
	return errors.New("there is no process to checkpoint")
}

func (*host) ServeLogs(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

func (*host) SyncLoopHealthCheck(*http.Request) error { return nil }

func (*host) GetVersionInfo() (*cadvisor.VersionInfo, error) { return nil, errUnmeasured }

func (*host) GetCachedMachineInfo() (*cadvisor.MachineInfo, error) { return nil, errUnmeasured }

func (*host) GetRequestedContainersInfo(string, cadvisorv2.RequestOptions) (map[string]*cadvisor.ContainerInfo, error) {
	return nil, errUnmeasured
}

func (*host) ListMetricDescriptors(context.Context) ([]*runtimeapi.MetricDescriptor, error) {
	return nil, nil
}

func (*host) ListPodSandboxMetrics(context.Context) ([]*runtimeapi.PodSandboxMetrics, error) {
	return nil, nil
}
