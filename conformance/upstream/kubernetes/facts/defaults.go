package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A default belongs in the table if defaulting puts the same value into an unset field wherever its type is used and
// whatever else the object says. Both are observed: sparse objects reach every place of every kind, random ones vary
// the rest of the object.

const (
	randomObjects = 2500
	maxDepth      = 12
	unset         = "unset"
	now           = "now"
)

type place struct{ typeName, field string }

// outcome of an unset field: a value as JSON, or unset; with an example of where that was seen.
type observations struct {
	outcomes  map[place]map[string]string
	converted map[string]string
}

func probe(c *catalogue) *observations {
	o := &observations{map[place]map[string]string{}, map[string]string{}}
	random := rand.New(rand.NewSource(1))
	for _, kind := range c.kinds {
		if strings.HasSuffix(kind.gvk.Kind, "List") {
			continue
		}
		builder := builder{catalogue: c, random: random}
		for _, path := range builder.structPaths(kind.goType) {
			object := reflect.New(kind.goType)
			builder.instantiate(object.Elem(), path)
			o.observe(kind, object)
		}
		for range randomObjects {
			object := reflect.New(kind.goType)
			builder.fill(object.Elem(), 0, []float64{0.15, 0.4, 0.7}[random.Intn(3)])
			o.observe(kind, object)
		}
	}
	return o
}

func (o *observations) observe(kind kindType, object reflect.Value) {
	before := object.Interface().(runtime.Object)
	after := before.DeepCopyObject()
	if !applyDefaults(kind.scheme, after) {
		return
	}
	o.compare(object.Elem(), reflect.ValueOf(after).Elem(), kind.gvk.Kind)
	o.convert(kind, after)
}

// applyDefaults reports false where a defaulting function does not survive the random object.
func applyDefaults(scheme *runtime.Scheme, object runtime.Object) (ok bool) {
	defer func() { ok = recover() == nil }()
	scheme.Default(object)
	return true
}

// compare notes what became of each unset field of each struct that was there before defaulting.
func (o *observations) compare(before, after reflect.Value, path string) {
	switch before.Kind() {
	case reflect.Pointer:
		if !before.IsNil() && !after.IsNil() {
			o.compare(before.Elem(), after.Elem(), path)
		}
	case reflect.Slice:
		for i := range min(before.Len(), after.Len()) {
			o.compare(before.Index(i), after.Index(i), path+"[]")
		}
	case reflect.Map:
		for _, key := range before.MapKeys() {
			if value := after.MapIndex(key); value.IsValid() {
				o.compare(before.MapIndex(key), value, path+"{}")
			}
		}
	case reflect.Struct:
		if _, ok := special[modelName(before.Type())]; ok {
			return
		}
		o.compareFields(modelName(before.Type()), before, after, path)
	}
}

func (o *observations) compareFields(owner string, before, after reflect.Value, path string) {
	for i := range before.NumField() {
		field := before.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && field.Anonymous:
			o.compareFields(owner, before.Field(i), after.Field(i), path)
		case isUnset(before.Field(i)):
			o.note(place{owner, name}, outcomeOf(after.Field(i), field.Tag), path+"."+name)
		default:
			o.compare(before.Field(i), after.Field(i), path+"."+name)
		}
	}
}

// isUnset reports whether a default could apply here as a whole; in a struct held by value it applies field by field.
func isUnset(value reflect.Value) bool {
	if value.Kind() == reflect.Struct && special[modelName(value.Type())] == "" {
		return false
	}
	return value.IsZero()
}

func outcomeOf(value reflect.Value, tag reflect.StructTag) string {
	if value.IsZero() {
		return unset
	}
	switch value.Kind() {
	case reflect.Map, reflect.Slice:
		// Nobody sees an empty list or map that is not written.
		if value.Len() == 0 && strings.Contains(tag.Get("json"), "omit") {
			return unset
		}
	case reflect.Pointer:
		if special[modelNameOrEmpty(value.Type().Elem())] == "time" {
			return now
		}
	}
	return compactJSON(value.Interface())
}

func (o *observations) note(at place, outcome, path string) {
	if o.outcomes[at] == nil {
		o.outcomes[at] = map[string]string{}
	}
	if _, seen := o.outcomes[at][outcome]; !seen {
		o.outcomes[at][outcome] = path
	}
}

// convert notes what a trip through the internal version changes, as every stored object makes it.
func (o *observations) convert(kind kindType, object runtime.Object) {
	defer func() { _ = recover() }()
	internal, err := kind.scheme.ConvertToVersion(object.DeepCopyObject(), schema.GroupVersion{Group: kind.gvk.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return
	}
	back, err := kind.scheme.ConvertToVersion(internal, kind.gvk.GroupVersion())
	if err != nil {
		return
	}
	var left, right any
	roundTrip(object, &left)
	roundTrip(back, &right)
	if left, ok := left.(map[string]any); ok {
		delete(left, "kind")
		delete(left, "apiVersion")
	}
	if right, ok := right.(map[string]any); ok {
		delete(right, "kind")
		delete(right, "apiVersion")
	}
	o.difference(kind.gvk.Kind, left, right)
}

func (o *observations) difference(path string, left, right any) {
	if reflect.DeepEqual(left, right) {
		return
	}
	leftMap, isMap := left.(map[string]any)
	rightMap, areMaps := right.(map[string]any)
	if isMap && areMaps {
		for key := range leftMap {
			o.difference(path+"."+key, leftMap[key], rightMap[key])
		}
		for key := range rightMap {
			if _, both := leftMap[key]; !both {
				o.difference(path+"."+key, nil, rightMap[key])
			}
		}
		return
	}
	leftList, isList := left.([]any)
	rightList, areLists := right.([]any)
	if isList && areLists && len(leftList) == len(rightList) {
		for i := range leftList {
			o.difference(path+"[]", leftList[i], rightList[i])
		}
		return
	}
	if _, seen := o.converted[path]; !seen {
		l, _ := json.Marshal(left)
		r, _ := json.Marshal(right)
		o.converted[path] = fmt.Sprintf("%.80s -> %.80s", l, r)
	}
}

// decisive fields have one default, but whether they were unset decides another default, so that the kind sets both.
var decisive = map[place]bool{{"io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type"}: true}

func (c *catalogue) applyDefaults(o *observations) {
	for _, facts := range c.types {
		for _, field := range facts.fields {
			at := place{facts.name, field.name}
			outcomes := o.outcomes[at]
			if len(outcomes) != 1 || decisive[at] {
				continue
			}
			for value := range outcomes {
				if value != unset && value != now {
					field.value = value
					facts.defaults = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, facts := range c.types {
			if !facts.defaults && slices.ContainsFunc(facts.fields, func(field *fieldFacts) bool { return c.reachesDefaults(field.goType) }) {
				facts.defaults, changed = true, true
			}
		}
	}
}

func (c *catalogue) reachesDefaults(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && c.add(t).defaults
}

func (o *observations) report() string {
	var lines []string
	for at, outcomes := range o.outcomes {
		if _, timed := outcomes[now]; len(outcomes) < 2 && !timed {
			continue
		}
		var seen []string
		for outcome, path := range outcomes {
			seen = append(seen, fmt.Sprintf("    %.100s  at %s", outcome, path))
		}
		sort.Strings(seen)
		if len(seen) > 6 {
			seen = append(seen[:6], fmt.Sprintf("    and %d more", len(seen)-6))
		}
		lines = append(lines, fmt.Sprintf("%s.%s\n%s\n", at.typeName, at.field, strings.Join(seen, "\n")))
	}
	sort.Strings(lines)
	var conversions []string
	for path, change := range o.converted {
		conversions = append(conversions, path+"  "+change+"\n")
	}
	sort.Strings(conversions)
	return "DEFAULTS THAT DEPEND ON CONTEXT\n\n" + strings.Join(lines, "") +
		"\nVALUES THAT CONVERSION TO THE INTERNAL VERSION AND BACK CHANGES\n\n" + strings.Join(conversions, "")
}

// builder makes objects to observe.
type builder struct {
	catalogue *catalogue
	random    *rand.Rand
}

// A step into a struct's field by index, or into a list, map or pointer.
type step int

const into step = -1

// structPaths lists the ways from a kind to every struct in it, recursive types once.
func (b builder) structPaths(root reflect.Type) (paths [][]step) {
	var visit func(t reflect.Type, path []step, above []reflect.Type)
	visit = func(t reflect.Type, path []step, above []reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem(), append(slices.Clone(path), into), above)
		case reflect.Struct:
			if special[modelName(t)] != "" || slices.Contains(above, t) {
				return
			}
			paths = append(paths, path)
			above = append(slices.Clone(above), t)
			for i := range t.NumField() {
				if t.Field(i).IsExported() {
					visit(t.Field(i).Type, append(slices.Clone(path), step(i)), above)
				}
			}
		}
	}
	visit(root, nil, nil)
	return paths
}

func (b builder) instantiate(value reflect.Value, path []step) {
	if len(path) == 0 {
		return
	}
	switch {
	case path[0] != into:
		b.instantiate(value.Field(int(path[0])), path[1:])
	case value.Kind() == reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		b.instantiate(value.Elem(), path[1:])
	case value.Kind() == reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		b.instantiate(value.Index(0), path[1:])
	case value.Kind() == reflect.Map:
		element := reflect.New(value.Type().Elem()).Elem()
		b.instantiate(element, path[1:])
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key").Convert(value.Type().Key()), element)
	}
}

// Among them values that defaulting looks for and that no schema lists.
var words = []string{"a", "b", "a:v1", "a:latest", "None", "default", "v1", "example.com/a", "User", "Group", "ServiceAccount", "Container", "Pod"}

// fill sets each optional part with the given probability.
func (b builder) fill(value reflect.Value, depth int, probability float64) {
	if depth > maxDepth {
		return
	}
	r := b.random
	switch value.Kind() {
	case reflect.Struct:
		switch special[modelName(value.Type())] {
		case "":
		case "quantity":
			value.Set(reflect.ValueOf(*resource.NewQuantity(int64(1+r.Intn(3)), resource.DecimalSI)))
			return
		case "int-or-string":
			value.Set(reflect.ValueOf([]intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("10%")}[r.Intn(2)]))
			return
		default:
			return
		}
		for i := range value.NumField() {
			field := value.Field(i)
			if !value.Type().Field(i).IsExported() || field.Kind() == reflect.Interface {
				continue
			}
			if field.Kind() == reflect.Struct && special[modelName(field.Type())] == "" || r.Float64() < probability {
				b.fill(field, depth+1, probability)
			}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		b.fill(value.Elem(), depth+1, probability)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte("bytes"))
			return
		}
		count := r.Intn(3)
		value.Set(reflect.MakeSlice(value.Type(), count, count))
		for i := range count {
			b.fill(value.Index(i), depth+1, probability)
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for i := range r.Intn(2) + 1 {
			element := reflect.New(value.Type().Elem()).Elem()
			b.fill(element, depth+1, probability)
			value.SetMapIndex(reflect.ValueOf([]string{"cpu", "memory"}[i]).Convert(value.Type().Key()), element)
		}
	case reflect.String:
		choices := words
		if facts, ok := b.catalogue.types[modelNameOrEmpty(value.Type())]; ok && len(facts.enum) > 0 && r.Intn(8) > 0 {
			choices = facts.enum
		}
		value.SetString(choices[r.Intn(len(choices))])
	case reflect.Bool:
		value.SetBool(r.Intn(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(int64(r.Intn(3)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(r.Intn(3)))
	case reflect.Float64:
		value.SetFloat(float64(r.Intn(3)))
	}
}

func modelNameOrEmpty(t reflect.Type) string {
	if t.PkgPath() == "" {
		return ""
	}
	return modelName(t)
}
