// The script of conformance/clients with client-go: typed objects in protobuf, and both ways to connect to containers.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/watch"
	configv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

const (
	namespace = "default"
	pod       = "web"
	container = "app"
	manager   = "client-go-script"
)

type script struct {
	config *rest.Config
	client *kubernetes.Clientset
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check("config", err)
	// As controllers have it.
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	s := script{config, kubernetes.NewForConfigOrDie(typed)}

	if len(os.Args) > 1 && os.Args[1] == "refusals" {
		s.refusals(ctx)
		return
	}
	check("list", s.list(ctx))
	check("create, watch", s.watch(ctx))
	check("patch", s.patch(ctx))
	check("apply", s.apply(ctx))
	check("delete", s.client.CoreV1().ConfigMaps(namespace).Delete(ctx, manager, metav1.DeleteOptions{}))
	check("logs -f", s.logs(ctx))
	for _, way := range ways {
		check("exec over "+way.name, s.exec(ctx, way))
		check("port-forward over "+way.name, s.portForward(pod, way))
	}
}

// A way to connect to a container.
type way struct {
	name     string
	executor func(*rest.Config, *url.URL) (remotecommand.Executor, error)
	dialer   func(*rest.Config, *url.URL) (httpstream.Dialer, error)
}

var ways = []way{
	{
		"WebSocket",
		func(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(config, "GET", url.String())
		},
		func(config *rest.Config, url *url.URL) (httpstream.Dialer, error) {
			return portforward.NewSPDYOverWebsocketDialer(url, config)
		},
	},
	{
		"SPDY",
		func(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(config, "POST", url)
		},
		func(config *rest.Config, url *url.URL) (httpstream.Dialer, error) {
			transport, upgrader, err := spdy.RoundTripperFor(config)
			return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), err
		},
	},
}

// Prints what is said where there is no container to connect to.
func (s *script) refusals(ctx context.Context) {
	pods := s.client.CoreV1().Pods(namespace)
	nowhere := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "nowhere"},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: container, Image: "app:1"}}},
	}
	_, err := pods.Create(ctx, nowhere, metav1.CreateOptions{})
	if err != nil {
		check("create", err)
	}
	for _, way := range ways {
		for _, name := range []string{"nowhere", "missing"} {
			_, _, err := s.run(ctx, way, name, nil, "app", "cat")
			fmt.Printf("exec over %s, %s: %v\n", way.name, name, err)
			fmt.Printf("port-forward over %s, %s: %v\n", way.name, name, s.portForward(name, way))
		}
	}
	_, err = pods.GetLogs("missing", &corev1.PodLogOptions{}).Stream(ctx)
	fmt.Printf("logs, missing: %v\n", err)
	if err := pods.Delete(ctx, "nowhere", metav1.DeleteOptions{}); err != nil {
		check("delete", err)
	}
}

func check(step string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", step, err)
		os.Exit(1)
	}
	fmt.Println("ok", step)
}

func (s *script) list(ctx context.Context) error {
	pods, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(pods.Items) != 1 || pods.Items[0].Name != pod || pods.Items[0].Status.Phase != corev1.PodRunning {
		return fmt.Errorf("the Pods are %v", pods.Items)
	}
	return nil
}

func (s *script) watch(ctx context.Context) error {
	maps := s.client.CoreV1().ConfigMaps(namespace)
	watcher, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", manager).String()})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: manager}, Data: map[string]string{"a": "1"}}
	if _, err := maps.Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return err
	}
	event, open := <-watcher.ResultChan()
	if !open || event.Type != watch.Added || event.Object.(*corev1.ConfigMap).Data["a"] != "1" {
		return fmt.Errorf("the event is %v", event)
	}
	return nil
}

func (s *script) patch(ctx context.Context) error {
	maps := s.client.CoreV1().ConfigMaps(namespace)
	for kind, patch := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op": "replace", "path": "/data/a", "value": "json"}]`,
		types.MergePatchType:          `{"data": {"a": "merge"}}`,
		types.StrategicMergePatchType: `{"data": {"a": "strategic"}}`,
	} {
		patched, err := maps.Patch(ctx, manager, kind, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return err
		}
		if !strings.Contains(patch, `"`+patched.Data["a"]+`"`) {
			return fmt.Errorf("%s left %v", kind, patched.Data)
		}
	}
	return nil
}

func (s *script) apply(ctx context.Context) error {
	wanted := configv1.ConfigMap(manager, namespace).WithData(map[string]string{"b": "2"})
	applied, err := s.client.CoreV1().ConfigMaps(namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		return err
	}
	if len(applied.Data) != 2 || applied.Data["b"] != "2" {
		return fmt.Errorf("the data is %v", applied.Data)
	}
	return nil
}

// Follows the log until it has a line that was not there at the beginning.
func (s *script) logs(ctx context.Context) error {
	options := &corev1.PodLogOptions{Container: container, Follow: true, TailLines: new(int64)}
	stream, err := s.client.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "tick ") {
		return fmt.Errorf("the line is %q: %w", lines.Text(), lines.Err())
	}
	return nil
}

// Runs a command, and returns what it wrote.
func (s *script) run(ctx context.Context, way way, pod string, input io.Reader, command ...string) (string, string, error) {
	options := &corev1.PodExecOptions{Container: container, Command: command, Stdin: input != nil, Stdout: true, Stderr: true}
	request := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec")
	executor, err := way.executor(s.config, request.VersionedParams(options, scheme.ParameterCodec).URL())
	if err != nil {
		return "", "", err
	}
	var stdout, stderr bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), err
}

func (s *script) exec(ctx context.Context, way way) error {
	// The end of the input is sent, too.
	stdout, stderr, err := s.run(ctx, way, pod, strings.NewReader("hello\n"), "app", "cat")
	if err != nil || stdout != "hello\n" || stderr != "" {
		return fmt.Errorf("cat wrote %q and %q: %v", stdout, stderr, err)
	}
	stdout, stderr, err = s.run(ctx, way, pod, nil, "app", "fail")
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 3 || stdout != "so far so good\n" || stderr != "oh no\n" {
		return fmt.Errorf("fail wrote %q and %q: %v", stdout, stderr, err)
	}
	return nil
}

func (s *script) portForward(pod string, way way) error {
	path := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer, err := way.dialer(s.config, path)
	if err != nil {
		return err
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	defer close(stop)
	forwarder, err := portforward.New(dialer, []string{"0:" + cmp.Or(os.Getenv("POD_PORT"), "8080")}, stop, ready, io.Discard, os.Stderr)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return err
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	// Two connections, one after the other.
	for range 2 {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != "hello from web\n" {
			return fmt.Errorf("the answer is %q: %v", body, err)
		}
	}
	return nil
}
