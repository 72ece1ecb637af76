// Records sequences of writes, made by chance, and what upstream's field manager makes of them.
//
// Needs the Go modules of the real control plane:
//
//	cd conformance/upstream/kubernetes
//	go run ../../../crates/merge/recorded/generate.go -n 60 -seed 7 > ../../../crates/merge/recorded/cases.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

type M = map[string]interface{}
type L = []interface{}

func thing(version, replicas string) M {
	str := M{"type": "string"}
	num := M{"type": "integer"}
	list := func(items M, ext M) M {
		m := M{"type": "array", "items": items}
		for k, v := range ext {
			m[k] = v
		}
		return m
	}
	keys := func(k ...interface{}) M {
		return M{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": L(k)}
	}
	obj := func(p M) M { return M{"type": "object", "properties": p} }
	mp := func(v M) M { return M{"type": "object", "additionalProperties": v} }
	atomicMap := mp(str)
	atomicMap["x-kubernetes-map-type"] = "atomic"
	t := obj(M{
		"apiVersion": str, "kind": str,
		"metadata": obj(M{"name": str, "namespace": str, "uid": str, "resourceVersion": str,
			"creationTimestamp": M{"type": "string", "format": "date-time"}, "generation": num,
			"labels": mp(str), "annotations": mp(str),
			"finalizers":      list(str, M{"x-kubernetes-list-type": "set"}),
			"ownerReferences": list(obj(M{"uid": str, "name": str}), keys("uid")),
			"managedFields":   list(M{}, nil)}),
		"data": mp(str),
		"spec": obj(M{
			replicas: num, "paused": M{"type": "boolean"}, "selector": atomicMap,
			"args": list(str, nil), "raw": M{"$ref": "#/definitions/io.k8s.apimachinery.pkg.runtime.RawExtension"},
			"free":   M{},
			"groups": mp(obj(M{"a": str, "b": str})),
			"ports":  list(obj(M{"port": num, "protocol": M{"type": "string", "default": "TCP"}, "name": str}), keys("port", "protocol")),
			"containers": list(obj(M{"name": str, "image": str, "args": list(str, nil),
				"env": list(obj(M{"name": str, "value": str}), keys("name"))}), keys("name")),
		}),
		"status": obj(M{"ready": num, "conditions": list(obj(M{"type": str, "status": str}), keys("type"))}),
	})
	t["x-kubernetes-group-version-kind"] = L{M{"group": "", "version": version, "kind": "Thing"}}
	return t
}

func models() map[string]*spec.Schema {
	all := M{"thing.v1": thing("v1", "replicas"), "thing.v2": thing("v2", "count"),
		"io.k8s.apimachinery.pkg.runtime.RawExtension": M{"type": "object"}}
	b, _ := json.Marshal(all)
	out := map[string]*spec.Schema{}
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

type conv struct{}

func (conv) Convert(in, out, context interface{}) error { return fmt.Errorf("unused") }
func (conv) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return "", "", fmt.Errorf("unused")
}
func (conv) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	u := in.(*unstructured.Unstructured).DeepCopy()
	kind, ok := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{u.GroupVersionKind()})
	if !ok {
		target := gv.(schema.GroupVersion)
		kind = target.WithKind("Thing")
	}
	from, to := "", ""
	switch kind.Version {
	case "v1":
		from, to = "count", "replicas"
	case "v2":
		from, to = "replicas", "count"
	default:
		return nil, runtime.NewNotRegisteredErrForTarget("x", nil, gv)
	}
	if s, ok := u.Object["spec"].(M); ok {
		if v, ok := s[from]; ok {
			delete(s, from)
			s[to] = v
		}
	}
	u.SetGroupVersionKind(kind)
	return u, nil
}

type noDefault struct{}

func (noDefault) Default(runtime.Object) {}

type creater struct{}

func (creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: M{"metadata": M{}, "spec": M{}, "status": M{}}}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

type step struct {
	Op          string      `json:"op"`
	Manager     string      `json:"manager"`
	Version     string      `json:"version"`
	Subresource string      `json:"subresource,omitempty"`
	Exclude     []string    `json:"exclude,omitempty"`
	Force       bool        `json:"force,omitempty"`
	Object      interface{} `json:"object"`
	Result      interface{} `json:"result,omitempty"`
	Extract     interface{} `json:"extract,omitempty"`
	Error       []string    `json:"error,omitempty"`
	Causes      []string    `json:"causes,omitempty"`
}
type kase struct {
	Live  interface{} `json:"live,omitempty"`
	Steps []step      `json:"steps"`
}

var r *rand.Rand

func p(x float64) bool        { return r.Float64() < x }
func pick(s ...string) string { return s[r.Intn(len(s))] }
func val() string             { return pick("1", "2") }

// names gives the fields of an object in order: the same seed makes the same cases.
func names(m M) []string {
	out := []string{}
	for f := range m {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

func free(d int) interface{} {
	switch n := r.Intn(9); {
	case n == 0:
		return nil
	case n == 1:
		return val()
	case n == 2:
		return int64(r.Intn(2))
	case n == 3:
		return L{val()}
	case n == 4:
		return M{}
	case n == 5:
		return L{}
	case d > 2:
		return val()
	default:
		m := M{}
		for _, k := range []string{"a", "b"} {
			if p(.6) {
				m[k] = free(d + 1)
			}
		}
		return m
	}
}

func strmap(ks ...string) interface{} {
	if p(.05) {
		return nil
	}
	m := M{}
	for _, k := range ks {
		if p(.5) {
			m[k] = val()
		}
	}
	return m
}

// object makes an object; dups says whether its lists may hold an item twice, density how much of it is set.
func object(version string, dups bool, density float64) M {
	o := M{"apiVersion": version, "kind": "Thing"}
	meta := M{"name": "a", "namespace": "n"}
	h := func(x float64) bool { return p(x * density) }
	some := func(ks ...string) []string {
		out := []string{}
		for _, k := range ks {
			if p(.5) {
				out = append(out, k)
			}
		}
		if dups && p(.3) && len(out) > 0 {
			out = append(out, out[r.Intn(len(out))])
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	if h(.4) {
		meta["labels"] = strmap("a", "b")
	}
	if h(.3) {
		l := L{}
		for _, n := range some("f", "g", "h", "i") {
			l = append(l, n)
		}
		meta["finalizers"] = l
	}
	if h(.2) {
		l := L{}
		for _, n := range some("u", "v") {
			l = append(l, M{"uid": n, "name": val()})
		}
		meta["ownerReferences"] = l
	}
	o["metadata"] = meta
	if h(.6) {
		o["data"] = strmap("x", "y", "z")
	}
	spec := M{}
	if h(.4) {
		k := "replicas"
		if version == "v2" {
			k = "count"
		}
		spec[k] = int64(r.Intn(3))
	}
	if h(.2) {
		spec["paused"] = p(.5)
	}
	if h(.3) {
		spec["selector"] = strmap("a", "b")
	}
	if h(.2) {
		spec["args"] = L{val()}
	}
	if h(.15) {
		spec["raw"] = free(0)
	}
	if h(.4) {
		spec["free"] = free(0)
	}
	if h(.3) {
		g := M{}
		for _, n := range []string{"g", "h"} {
			if p(.5) {
				g[n] = strmap("a", "b")
			}
		}
		spec["groups"] = g
	}
	if h(.4) {
		l := L{}
		for _, n := range some("80", "443", "53U", "80T", "1234567") {
			m := M{}
			switch n {
			case "80":
				m["port"] = int64(80)
			case "80T":
				m["port"] = int64(80)
				m["protocol"] = "TCP"
				if !dups {
					m["port"] = int64(81)
				}
			case "53U":
				m["port"] = int64(53)
				m["protocol"] = "UDP"
			case "443":
				m["port"] = int64(443)
			default:
				m["port"] = int64(1234567)
			}
			if p(.5) {
				m["name"] = val()
			}
			l = append(l, m)
		}
		spec["ports"] = l
	}
	if h(.5) {
		l := L{}
		for _, n := range some("a", "b", "c", "d") {
			m := M{"name": n}
			if p(.5) {
				m["image"] = val()
			}
			if p(.2) {
				m["args"] = L{val()}
			}
			if p(.3) {
				e := L{}
				for _, n := range some("E", "F") {
					e = append(e, M{"name": n, "value": val()})
				}
				m["env"] = e
			}
			l = append(l, m)
		}
		spec["containers"] = l
	}
	if len(spec) > 0 || p(.5) {
		o["spec"] = spec
	}
	if h(.2) {
		st := M{}
		if p(.6) {
			st["ready"] = int64(r.Intn(2))
		}
		if p(.5) {
			l := L{}
			for _, n := range some("A", "B") {
				l = append(l, M{"type": n, "status": val()})
			}
			st["conditions"] = l
		}
		o["status"] = st
	}
	return o
}

func fixTimes(o M, step int) {
	meta, _ := o["metadata"].(M)
	if meta == nil {
		return
	}
	mf, _ := meta["managedFields"].(L)
	for _, e := range mf {
		m := e.(M)
		if t, ok := m["time"].(string); ok && !strings.HasPrefix(t, "2001-") {
			m["time"] = fmt.Sprintf("2001-01-01T00:00:%02dZ", step)
		}
	}
	meta["uid"] = "u"
}

func sortedLines(s string) []string {
	l := strings.Split(s, "\n")
	sort.Strings(l)
	return l
}

func main() {
	n := flag.Int("n", 1000, "")
	seed := flag.Int64("seed", 1, "")
	flag.Parse()
	r = rand.New(rand.NewSource(*seed))
	tc, err := managedfields.NewTypeConverter(models(), false)
	if err != nil {
		panic(err)
	}
	types, err := schemaconv.ToSchemaFromOpenAPI(models(), false)
	if err != nil {
		panic(err)
	}
	parser := typed.Parser{Schema: smdschema.Schema{Types: types.Types}}
	fm := func(version, sub string, exclude []string) *managedfields.FieldManager {
		reset := map[fieldpath.APIVersion]fieldpath.Filter{}
		if len(exclude) > 0 {
			set := fieldpath.NewSet()
			for _, e := range exclude {
				parts := []interface{}{}
				for _, x := range strings.Split(e, ".") {
					parts = append(parts, x)
				}
				set.Insert(fieldpath.MakePathOrDie(parts...))
			}
			reset["v1"] = fieldpath.NewExcludeSetFilter(set)
			reset["v2"] = fieldpath.NewExcludeSetFilter(set)
		}
		f, err := managedfields.NewDefaultCRDFieldManager(tc, conv{}, noDefault{}, creater{},
			schema.GroupVersionKind{Version: version, Kind: "Thing"}, schema.GroupVersion{Version: "v1"}, sub, reset)
		if err != nil {
			panic(err)
		}
		return f
	}
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for i := 0; i < *n; i++ {
		k := kase{}
		versions := []string{"v1"}
		if p(.3) {
			versions = []string{"v1", "v2"}
		}
		dups := p(.15)
		density := 1.5
		if p(.3) {
			density = .7
		}
		var live *unstructured.Unstructured
		if p(.2) {
			live = &unstructured.Unstructured{Object: object("v1", dups, density)}
			live.SetUID("u")
			k.Live = live.DeepCopy().Object
		}
		useFilter := p(.2)
		many := p(.05)
		steps := 2 + r.Intn(6)
		if many {
			steps = 10 + r.Intn(15)
		}
		for s := 0; s < steps; s++ {
			st := step{Version: versions[r.Intn(len(versions))], Manager: pick("one", "two", "three", "kubectl", "kubectl")}
			if many {
				st.Manager = fmt.Sprintf("m%02d", r.Intn(20))
				if p(.05) {
					st.Manager = "ancient-changes"
				}
			}
			if useFilter {
				if p(.3) {
					st.Subresource = "status"
					st.Exclude = []string{"spec", "metadata.labels"}
				} else {
					st.Exclude = []string{"status"}
				}
			}
			f := fm(st.Version, st.Subresource, st.Exclude)
			var out runtime.Object
			var err error
			if (!many && p(.6)) || (many && p(.1)) {
				st.Op = "apply"
				st.Force = p(.5)
				cfg := object(st.Version, p(.02), density)
				b, _ := json.Marshal(cfg)
				u := &unstructured.Unstructured{Object: M{}}
				if err := yaml.Unmarshal(b, &u.Object); err != nil {
					panic(err)
				}
				st.Object = cfg
				l := live
				if l == nil {
					x, _ := creater{}.New(schema.GroupVersionKind{Version: st.Version, Kind: "Thing"})
					l = x.(*unstructured.Unstructured)
				}
				out, err = f.Apply(l.DeepCopy(), u, st.Manager, st.Force)
			} else {
				st.Op = "update"
				var nw *unstructured.Unstructured
				if live != nil {
					x, err := conv{}.ConvertToVersion(live, schema.GroupVersion{Version: st.Version})
					if err != nil {
						panic(err)
					}
					nw = x.(*unstructured.Unstructured)
					other := object(st.Version, dups, density)
					// take some parts from another object
					for _, top := range []string{"data", "status", "spec"} {
						if p(.5) {
							if v, ok := other[top]; ok && top != "spec" {
								nw.Object[top] = v
							} else if top == "spec" && ok {
								sp, _ := nw.Object["spec"].(M)
								if sp == nil {
									sp = M{}
								}
								for _, f := range names(v.(M)) {
									if p(.6) {
										sp[f] = v.(M)[f]
									}
								}
								for _, f := range names(sp) {
									if p(.1) {
										delete(sp, f)
									}
								}
								nw.Object["spec"] = sp
							} else if p(.2) {
								delete(nw.Object, top)
							}
						}
					}
					meta := nw.Object["metadata"].(M)
					for _, f := range names(other["metadata"].(M)) {
						if p(.5) {
							meta[f] = other["metadata"].(M)[f]
						}
					}
					if p(.2) {
						last := object(st.Version, p(.1), density)
						if p(.5) {
							// as it is now
							last = M{"apiVersion": nw.Object["apiVersion"], "kind": "Thing", "data": nw.Object["data"], "spec": nw.Object["spec"]}
						}
						b, _ := json.Marshal(last)
						an, _ := meta["annotations"].(M)
						if an == nil {
							an = M{}
						}
						an["kubectl.kubernetes.io/last-applied-configuration"] = string(b)
						meta["annotations"] = an
					}
					if p(.3) {
						delete(meta, "managedFields")
					} else if p(.05) {
						meta["managedFields"] = L{}
					}
				} else {
					nw = &unstructured.Unstructured{Object: object(st.Version, dups, density)}
				}
				st.Object = nw.DeepCopy().Object
				l := live
				if l == nil {
					x, _ := creater{}.New(schema.GroupVersionKind{Version: st.Version, Kind: "Thing"})
					l = x.(*unstructured.Unstructured)
				}
				out = f.UpdateNoErrors(l.DeepCopy(), nw, st.Manager)
			}
			if err != nil {
				st.Error = sortedLines(err.Error())
				if se, ok := err.(*apierrors.StatusError); ok && se.ErrStatus.Details != nil {
					for _, c := range se.ErrStatus.Details.Causes {
						st.Causes = append(st.Causes, string(c.Type)+"|"+c.Message+"|"+c.Field)
					}
					sort.Strings(st.Causes)
				}
			} else {
				o := out.DeepCopyObject()
				x, cerr := conv{}.ConvertToVersion(o, schema.GroupVersion{Version: "v1"})
				if cerr != nil {
					panic(cerr)
				}
				u := x.(*unstructured.Unstructured)
				// through JSON: live numbers are integers again
				b, _ := json.Marshal(u.Object)
				back := &unstructured.Unstructured{}
				if err := back.UnmarshalJSON(b); err != nil {
					panic(err)
				}
				fixTimes(back.Object, s)
				live = back
				st.Result = back.DeepCopy().Object
				if st.Op == "apply" {
					extracted := M{}
					if err := managedfields.ExtractInto(back, parser.Type("thing.v1"), st.Manager, &extracted, st.Subresource); err == nil && len(extracted) > 0 {
						st.Extract = extracted
					}
				}
			}
			k.Steps = append(k.Steps, st)
		}
		b, err := json.Marshal(k)
		if err != nil {
			panic(err)
		}
		w.Write(b)
		w.WriteByte('\n')
	}
}
