// Command kubelet is a node whose containers have known answers. The real kube-apiserver talks to it as to any kubelet, so that what
// clients see of exec, attach, port-forward, logs and of the proxy to nodes can be recorded. Its paths, refusals and documents are those of
// the real kubelet's own server (k8s.io/kubernetes/pkg/kubelet/server); handshakes, protocols, frames and statuses are those of
// k8s.io/cri-streaming, which container runtimes serve them with. Only what the containers do, and what is known of them, is written here.
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
	"time"

	"k8s.io/cri-streaming/pkg/streaming"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"
	"k8s.io/kubernetes/pkg/kubelet/server"
)

func main() {
	port := flag.Int("port", 10250, "the port on loopback; 0 picks one")
	outside := flag.Bool("outside", false, "listens also on the address that this machine has for others: kube-apiserver's proxy passes nothing on to loopback")
	kubeconfig := flag.String("kubeconfig", "", "of the API server that has the Pods")
	usage := flag.Bool("usage", false, "says how much the node and the Pod default/metered use; otherwise nothing is measured")
	idle := flag.Duration("idle", streaming.DefaultConfig.StreamIdleTimeout, "after how long a connection over which nothing is said is closed")
	flag.Parse()
	log.SetFlags(0)
	certificate, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	streams, err := serveStreams(*idle)
	if err != nil {
		log.Fatal(err)
	}
	handler := &nodes{every: host{streams: streams, measures: *usage}, servers: map[string]*server.Server{}}
	if err := handler.every.connect(*kubeconfig); err != nil {
		log.Fatal(err)
	}
	kubeletmetrics.Register()
	https := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	chosen := listener.Addr().(*net.TCPAddr).Port
	if *outside {
		further, err := listenOutside(chosen)
		if err != nil {
			log.Fatal(err)
		}
		go func() { log.Fatal(https.ServeTLS(further, "", "")) }()
	}
	fmt.Printf("kubelet: ready on port %d\n", chosen)
	log.Fatal(https.ServeTLS(listener, "", ""))
}

// listenOutside listens on an address of this machine that is not loopback.
func listenOutside(port int) (net.Listener, error) {
	// Nothing is sent: the system only says from which address it would be. The other one is reserved for documentation.
	towards, err := net.Dial("udp", "203.0.113.1:9")
	if err != nil {
		return nil, err
	}
	defer towards.Close()
	own := towards.LocalAddr().(*net.UDPAddr)
	return net.ListenTCP("tcp", &net.TCPAddr{IP: own.IP, Port: port})
}

// serveStreams serves the connections to containers as a runtime does, on a port of its own.
func serveStreams(idle time.Duration) (streaming.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	config.StreamIdleTimeout = idle
	streams, err := streaming.NewServer(config, containers{})
	if err != nil {
		return nil, err
	}
	go func() { log.Fatal(http.Serve(listener, streams)) }()
	return streams, nil
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
