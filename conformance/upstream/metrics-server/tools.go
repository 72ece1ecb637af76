//go:build tools

// Package tools pins the metrics-server that is run behind both API servers.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
