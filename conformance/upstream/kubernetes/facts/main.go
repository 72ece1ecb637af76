// Command facts writes the table of facts that crates/schema embeds: the types and resources of the built-in API.
//
// Names, scopes and verbs come from a running kube-apiserver's discovery documents; fields, tags and schema markers from
// the Go types and OpenAPI definitions of the same version; defaults from probing its defaulting functions.
//
//	go run ./facts -server https://127.0.0.1:6443 -token-file token -out ../../../crates/schema/facts/v1.36
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	server := flag.String("server", os.Getenv("FACTS_SERVER"), "address of a running kube-apiserver")
	tokenFile := flag.String("token-file", os.Getenv("FACTS_TOKEN_FILE"), "file with a bearer token")
	out := flag.String("out", "", "directory of types.facts and resources.facts")
	report := flag.String("report", "", "file for the defaults that depend on context, for the authors of crates/kinds")
	flag.Parse()
	if err := run(*server, *tokenFile, *out, *report); err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
}

func run(server, tokenFile, out, report string) error {
	groupVersions, err := discover(server, tokenFile)
	if err != nil {
		return err
	}
	catalogue, err := collect(groupVersions)
	if err != nil {
		return err
	}
	defaults := probe(catalogue)
	catalogue.applyDefaults(defaults)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "resources.facts"), []byte(printResources(groupVersions)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "types.facts"), []byte(catalogue.print()), 0o644); err != nil {
		return err
	}
	if report == "" {
		return nil
	}
	return os.WriteFile(report, []byte(defaults.report()), 0o644)
}
