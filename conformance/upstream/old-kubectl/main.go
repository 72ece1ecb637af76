// Command old-kubectl is kubectl as it was before it spoke WebSocket: exec, attach, cp and port-forward go over SPDY/3.1. Its commands are
// those of k8s.io/kubectl, as kubectl's own program has them.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
