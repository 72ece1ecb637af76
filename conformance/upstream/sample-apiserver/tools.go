//go:build tools

// Package tools pins the aggregated API server that tests run behind the embedded server.
package tools

import _ "k8s.io/sample-apiserver"
