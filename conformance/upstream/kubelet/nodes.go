package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"
)

// nodes are the kubelets of all nodes whose Pods are asked for here. The proxy of kube-apiserver says in a header which node it was asked
// for; where nothing does, all Pods are there.
type nodes struct {
	every   host
	lock    sync.Mutex
	servers map[string]*server.Server
}

func (n *nodes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.of(nodeOf(r.Header.Get("X-Forwarded-Uri"))).ServeHTTP(w, r)
}

// of is the server of a node, made when it is first asked for.
func (n *nodes) of(node string) *server.Server {
	n.lock.Lock()
	defer n.lock.Unlock()
	if known, found := n.servers[node]; found {
		return known
	}
	ctx := context.Background()
	host := n.every
	host.node = node
	// What looks into the machine is off, as an administrator may have it.
	config := &kubeletconfig.KubeletConfiguration{EnableDebuggingHandlers: true}
	made := server.NewServer(ctx, &host, stats.NewResourceAnalyzer(ctx, &host, time.Minute, nil), nil, nil, nil, config)
	n.servers[node] = &made
	return &made
}

// nodeOf is the name of the node in a path of kube-apiserver's proxy, where it may have a scheme and a port.
func nodeOf(uri string) string {
	rest, found := strings.CutPrefix(uri, "/api/v1/nodes/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	switch parts := strings.Split(name, ":"); len(parts) {
	case 2:
		return parts[0]
	case 3:
		return parts[1]
	}
	return name
}
