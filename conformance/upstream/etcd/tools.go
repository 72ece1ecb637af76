//go:build tools

// Package tools pins the etcd that the recorder's API server stores into.
package tools

import _ "go.etcd.io/etcd/server/v3"
