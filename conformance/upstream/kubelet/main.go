// Command kubelet is a node whose containers have known answers. The real kube-apiserver talks to it as to any kubelet, so that what
// clients see of exec, attach, port-forward and logs can be recorded. Handshakes, protocols, frames and statuses are those of
// k8s.io/cri-streaming, which container runtimes serve them with; only what the containers do is written here.
//
//	kubelet -port 10250        prints a line once it listens on loopback, with a certificate of its own
//
// What containers do stands in conformance/README.md, and a second time in conformance/src/kubelet, for the embedded server.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

func main() {
	port := flag.Int("port", 10250, "the port on loopback; 0 picks one")
	flag.Parse()
	log.SetFlags(0)
	certificate, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Path: "/"}
	streams, err := streaming.NewServer(config, containers{})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("kubelet: ready on port %d\n", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{
		Handler:   &kubelet{streams},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	}
	log.Fatal(server.ServeTLS(listener, "", ""))
}

// selfSigned makes a certificate. kube-apiserver checks none unless it is told an authority.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "kubelet"},
		NotAfter:     time.Now().AddDate(0, 1, 0),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// kubelet has the paths of a kubelet that kube-apiserver asks for.
type kubelet struct{ streams streaming.Server }

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 4 && parts[0] == "containerLogs":
		serveLogs(w, r, parts[3])
	case len(parts) == 4 && (parts[0] == "exec" || parts[0] == "attach"):
		k.command(w, r, parts[0], parts[3])
	case len(parts) == 3 && parts[0] == "portForward":
		k.portForward(w, r, parts[2])
	case r.URL.Path == "/metrics/resource":
		serveUsage(w)
	default:
		http.NotFound(w, r)
	}
}

// command serves exec and attach: a kubelet has its runtime say where, and passes the connection on.
func (k *kubelet) command(w http.ResponseWriter, r *http.Request, verb, container string) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		refuse(w, err)
		return
	}
	var where string
	if verb == "exec" {
		var answer *runtimeapi.ExecResponse
		answer, err = k.streams.GetExec(&runtimeapi.ExecRequest{
			ContainerId: container, Cmd: r.URL.Query()["command"],
			Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		})
		where = answer.GetUrl()
	} else {
		var answer *runtimeapi.AttachResponse
		answer, err = k.streams.GetAttach(&runtimeapi.AttachRequest{
			ContainerId: container,
			Stdin:       options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		})
		where = answer.GetUrl()
	}
	k.stream(w, r, where, err)
}

func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request, pod string) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		refuse(w, err)
		return
	}
	answer, err := k.streams.GetPortForward(&runtimeapi.PortForwardRequest{PodSandboxId: pod, Port: options.Ports})
	k.stream(w, r, answer.GetUrl(), err)
}

// refuse writes an error as a kubelet does.
func refuse(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, err.Error())
}

func (k *kubelet) stream(w http.ResponseWriter, r *http.Request, where string, err error) {
	if err != nil {
		_ = streaming.WriteError(err, w)
		return
	}
	location, err := url.Parse(where)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.URL = location
	k.streams.ServeHTTP(w, r)
}
