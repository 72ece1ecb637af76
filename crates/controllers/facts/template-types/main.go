// Writes down the Go types of a Pod template, in their order: what pod-template-hash is a hash of.
// With an argument it reads templates from that file, one JSON object a line, and prints the text and the hash of each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/dump"
	"k8s.io/apimachinery/pkg/util/rand"
)

var known = map[string]reflect.Type{}

func describe(t reflect.Type) {
	if _, ok := known[t.String()]; !ok && t.PkgPath() != "" && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice) {
		known[t.String()] = t
		fmt.Printf("%s map[%s]%s\n", t, t.Key(), t.Elem())
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		describe(t.Elem())
		return
	case reflect.Map:
		describe(t.Key())
		describe(t.Elem())
		return
	}
	name := t.String()
	if other, ok := known[name]; ok {
		if other != t {
			panic("two types are named " + name)
		}
		return
	}
	known[name] = t
	if t.PkgPath() == "" {
		return
	}
	if t.Kind() != reflect.Struct {
		fmt.Printf("%s %s\n", name, t.Kind())
		return
	}
	switch name {
	case "resource.Quantity", "v1.Time", "intstr.IntOrString", "v1.FieldsV1":
		fmt.Printf("%s special\n", name)
		return
	}
	fmt.Printf("%s struct\n", name)
	for i := range t.NumField() {
		field := t.Field(i)
		json, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if json == "" {
			json = "-"
		}
		fmt.Printf("  %s %s %s\n", field.Name, json, field.Type)
	}
	for i := range t.NumField() {
		describe(t.Field(i).Type)
	}
}

func main() {
	if len(os.Args) < 2 {
		describe(reflect.TypeOf(v1.PodTemplateSpec{}))
		return
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var read, template v1.PodTemplateSpec
		if err := json.Unmarshal(lines.Bytes(), &read); err != nil {
			panic(err)
		}
		// The controllers read protobuf: what is empty is nil there.
		bytes, err := read.Marshal()
		if err != nil {
			panic(err)
		}
		if err := template.Unmarshal(bytes); err != nil {
			panic(err)
		}
		text := dump.ForHash(template)
		hash := fnv.New32a()
		hash.Write([]byte(text))
		out, _ := json.Marshal(map[string]any{
			"template": template, "text": text, "hash": rand.SafeEncodeString(fmt.Sprint(hash.Sum32())),
		})
		fmt.Println(string(out))
	}
}
