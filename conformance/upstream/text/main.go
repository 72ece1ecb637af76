// Command text writes what Go's standard library does to text, for crates/apimachinery: the table of printable characters
// that it embeds, and the cases that its tests replay.
//
//	go run . -out ../../../crates/apimachinery
//
// Everything is deterministic: a second run with the same Go release writes the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "", "directory of the crate")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "text:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	if out == "" {
		return fmt.Errorf("-out is required")
	}
	files := map[string]string{
		"src/go/quote/printable.rs":     printable(),
		"tests/recorded/quote.tsv":      quotes(),
		"tests/recorded/characters.tsv": characters(),
		"tests/recorded/points.tsv":     points(),
		"tests/recorded/lists.tsv":      lists(),
		"tests/recorded/bytes.tsv":      quotedBytes(),
		"tests/recorded/floats.tsv":     floats(),
		"tests/recorded/rounded.tsv":    rounded(),
		"tests/recorded/values.tsv":     values(),
		"tests/recorded/escapes.tsv":    escapes(),
		"tests/recorded/urls.tsv":       urls(),
	}
	for name, text := range files {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A table is tab-separated lines behind a comment that names the columns.
type table struct{ strings.Builder }

func newTable(comment string) *table {
	t := &table{}
	t.WriteString("# " + comment + "\n")
	return t
}

func (t *table) row(cells ...string) {
	for _, cell := range cells {
		if strings.ContainsAny(cell, "\t\n") {
			panic(fmt.Sprintf("a cell would not survive: %q", cell))
		}
	}
	t.WriteString(strings.Join(cells, "\t") + "\n")
}
