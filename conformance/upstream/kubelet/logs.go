package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cri-client/pkg/logs"
)

// printed is what containers of these names have printed.
var printed = map[string]string{
	"app":    "one\ntwo\nthree\n",
	"long":   strings.Repeat("0123456789abcde\n", 400),
	"silent": "",
}

// readLogs writes the log of a container by the kubelet's own reader, from a file as runtimes write them.
func readLogs(ctx context.Context, container string, options *v1.PodLogOptions, stdout io.Writer) error {
	text, found := printed[container]
	if !found {
		return fmt.Errorf("container %q prints nothing that is known", container)
	}
	file, err := os.CreateTemp("", "log")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	for line := range strings.Lines(text) {
		if _, err := fmt.Fprintf(file, "2026-01-01T00:00:00Z stdout F %s", line); err != nil {
			return err
		}
	}
	asked := &logs.LogOptions{TailLines: options.TailLines, LimitBytes: options.LimitBytes, Timestamp: options.Timestamps}
	// Written at once, so that clients get it in the same pieces each time.
	var read bytes.Buffer
	failed := logs.ReadLogs(ctx, file.Name(), container, asked, nil, &read, io.Discard)
	if _, err := stdout.Write(read.Bytes()); err != nil {
		return err
	}
	return failed
}
