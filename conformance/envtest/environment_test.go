// Package envtest uses controller-runtime's envtest as the tests of operators do, on the programs that KUBEBUILDER_ASSETS names.
package envtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var gardenKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Garden"}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "set KUBEBUILDER_ASSETS=$(kubewright envtest path)")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// start starts an environment that the test stops.
func start(t *testing.T, environment *envtest.Environment) (*rest.Config, client.Client) {
	t.Helper()
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return config, clientOf(t, config)
}

func clientOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	made, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func crds() []string { return []string{filepath.Join("testdata", "crds")} }

func garden(name string, plants int64) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"plants": plants}}}
	object.SetGroupVersionKind(gardenKind)
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

// eventually asks until it is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

func TestDefinitionsAreInstalledAndObjectsAreValidated(t *testing.T) {
	_, api := start(t, &envtest.Environment{CRDDirectoryPaths: crds(), ErrorIfCRDPathMissing: true})
	if err := api.Create(t.Context(), garden("small", 3)); err != nil {
		t.Fatal(err)
	}
	if err := api.Create(t.Context(), garden("huge", 1000)); !apierrors.IsInvalid(err) {
		t.Fatalf("a garden with too many plants: %v", err)
	}
}

func TestUsersHaveTheirOwnRights(t *testing.T) {
	environment := &envtest.Environment{}
	config, admin := start(t, environment)
	user, err := environment.AddUser(envtest.User{Name: "jane", Groups: []string{"staff"}}, config)
	if err != nil {
		t.Fatal(err)
	}
	jane := clientOf(t, user.Config())
	if err := jane.List(t.Context(), &corev1.ConfigMapList{}); !apierrors.IsForbidden(err) {
		t.Fatalf("jane lists config maps: %v", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "staff"}},
	}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	eventually(t, "jane is allowed", func() bool { return jane.List(t.Context(), &corev1.ConfigMapList{}) == nil })
	kubeconfig, err := user.KubeConfig()
	if err != nil || !strings.Contains(string(kubeconfig), "client-certificate-data") {
		t.Fatalf("%v\n%s", err, kubeconfig)
	}
}

func TestKubectlSpeaksToTheServer(t *testing.T) {
	if _, err := os.Stat(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")); err != nil {
		if os.Getenv("KUBEWRIGHT_REQUIRE_KUBECTL") != "" {
			t.Fatal("the folder has no kubectl: set KUBECTL to the path of one when `kubewright envtest path` makes it")
		}
		t.Skip("the folder has no kubectl")
	}
	environment := &envtest.Environment{}
	config, _ := start(t, environment)
	stdout, stderr, err := environment.ControlPlane.KubeCtl().Run("create", "configmap", "app", "--from-literal=colour=blue", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	text := new(strings.Builder)
	for _, reader := range []interface{ Read([]byte) (int, error) }{stdout, stderr} {
		buffer := make([]byte, 4096)
		read, _ := reader.Read(buffer)
		text.Write(buffer[:read])
	}
	if got := strings.TrimSpace(text.String()); got != "configmap/app" {
		t.Fatal(got)
	}
	user, err := environment.AddUser(envtest.User{Name: "root", Groups: []string{"system:masters"}}, config)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := user.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := kubectl.Run("auth", "can-i", "*", "*"); err != nil {
		t.Fatal(err)
	}
}

func TestEnvironmentsStandBesideEachOther(t *testing.T) {
	for number := range 6 {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			_, api := start(t, &envtest.Environment{CRDDirectoryPaths: crds()})
			if err := api.Create(t.Context(), garden("same", int64(number))); err != nil {
				t.Fatal(err)
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gardenKind)
			if err := api.List(t.Context(), list); err != nil || len(list.Items) != 1 {
				t.Fatalf("%v %v", err, list.Items)
			}
		})
	}
}

func TestFlagsOfTheControlPlaneAreObeyed(t *testing.T) {
	environment := &envtest.Environment{}
	arguments := environment.ControlPlane.GetAPIServer().Configure()
	arguments.Set("default-not-ready-toleration-seconds", "7")
	arguments.Append("disable-admission-plugins", "Priority")
	arguments.Set("advertise-address", "192.0.2.9")
	arguments.Set("api-audiences", "https://api.example.com")
	arguments.Append("feature-gates", "WatchList=true")
	_, api := start(t, environment)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}
	if err := api.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if pod.Spec.Priority != nil || *pod.Spec.Tolerations[0].TolerationSeconds != 7 {
		t.Fatalf("%v", pod.Spec)
	}
	endpoints := &corev1.Endpoints{} //nolint:staticcheck // what the flag changes
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, endpoints); err != nil {
		t.Fatal(err)
	}
	if address := endpoints.Subsets[0].Addresses[0].IP; address != "192.0.2.9" {
		t.Fatal(address)
	}
}

func TestAFlagThatIsNotThereEndsTheStart(t *testing.T) {
	environment := &envtest.Environment{ControlPlaneStartTimeout: 10 * time.Second}
	environment.ControlPlane.GetAPIServer().Configure().Set("no-such-flag", "1")
	if _, err := environment.Start(); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Fatal(err)
	}
}

func TestAnEnvironmentStartsAgain(t *testing.T) {
	environment := &envtest.Environment{}
	for range 2 {
		config, err := environment.Start()
		if err != nil {
			t.Fatal(err)
		}
		// The second time, nothing of the first is there.
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "again"}}
		if err := clientOf(t, config).Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := environment.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatWasKilledIsNoticedAndStartsAgain(t *testing.T) {
	directory := t.TempDir()
	environment := &envtest.Environment{}
	environment.ControlPlane.GetAPIServer().CertDir = directory
	config, api := start(t, environment)
	killServer(t, directory)
	eventually(t, "the server is gone", func() bool {
		return api.List(t.Context(), &corev1.NamespaceList{}) != nil
	})
	// The same flags, certificates and port: clients go on.
	if err := environment.ControlPlane.APIServer.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is back", func() bool { return api.List(t.Context(), &corev1.NamespaceList{}) == nil })
	version, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	if err != nil || version.GitVersion != "v1.36.3" {
		t.Fatalf("%v %v", version, err)
	}
}

// killServer ends the kube-apiserver whose certificates are in a directory.
func killServer(t *testing.T, directory string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), "kube-apiserver\x00") || !strings.Contains(string(line), "--cert-dir="+directory) {
			continue
		}
		var id int
		if _, err := fmt.Sscanf(path, "/proc/%d/cmdline", &id); err != nil {
			t.Fatal(err)
		}
		process, err := os.FindProcess(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS == "linux" {
		t.Fatal("no process has the flag --cert-dir=" + directory)
	}
	t.Skip("this system does not tell which process it is")
}

func TestStoppingIsQuickWithOpenWatches(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := watcher.Watch(ctx, &corev1.ConfigMapList{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	begin := time.Now()
	if err := environment.Stop(); err != nil {
		t.Fatal(err)
	}
	// The real one takes its 20 seconds, and envtest then complains.
	if took := time.Since(begin); took > 10*time.Second {
		t.Fatal(took)
	}
}

func TestEtcdSaysThatItStoresNothing(t *testing.T) {
	environment := &envtest.Environment{}
	start(t, environment)
	url := environment.ControlPlane.Etcd.URL.String()
	for path, status := range map[string]int{"/health": 200, "/version": 200, "/readyz": 200, "/v3/kv/put": 501} {
		method := http.MethodGet
		if status == 501 {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != status {
			t.Fatalf("%s: %s", path, response.Status)
		}
	}
}
