package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// catalogue holds the types that the served kinds reach.
type catalogue struct {
	versions    []servedVersion
	schemes     []*runtime.Scheme
	definitions map[string]common.OpenAPIDefinition
	types       map[string]*typeFacts
	kinds       []kindType
	packages    map[schema.GroupVersion]string
}

type kindType struct {
	gvk    schema.GroupVersionKind
	goType reflect.Type
	scheme *runtime.Scheme
}

type typeFacts struct {
	name     string
	goType   reflect.Type
	form     string
	marks    []string
	isKind   bool
	fields   []*fieldFacts
	enum     []string
	enumSeen bool
	defaults bool
}

type fieldFacts struct {
	name   string
	goType reflect.Type
	expr   string
	// Its protobuf field numbers, those of the embedded messages around it first; "" where protobuf does not have it.
	number string
	marks  []string
	value  string
	enum   []string
}

// The types that encode themselves, and the word the table has for their form.
var special = map[string]string{
	"io.k8s.apimachinery.pkg.api.resource.Quantity":                                         "quantity",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":                                             "time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":                                        "microtime",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Duration":                                         "duration",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":                                         "fields",
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString":                                       "int-or-string",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":                                          "raw",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON":                         "any",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool":        "schema-or-bool",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray":       "schema-or-array",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}

// Kinds that every group-version has beside its own.
var metaKinds = []any{
	v1.DeleteOptions{}, v1.Status{}, v1.WatchEvent{}, v1.APIVersions{}, v1.APIGroup{}, v1.APIGroupList{},
	v1.APIResourceList{}, v1.ListOptions{}, v1.GetOptions{}, v1.CreateOptions{}, v1.UpdateOptions{}, v1.PatchOptions{},
	v1.Table{}, v1.PartialObjectMetadata{}, v1.PartialObjectMetadataList{},
}

// Types that no kind has but the documents mention.
var otherTypes = []any{v1.Patch{}, version.Info{}}

func collect(versions []servedVersion) (*catalogue, error) {
	others := runtime.NewScheme()
	apiextensions.Install(others)
	apiregistration.Install(others)
	c := &catalogue{
		versions: versions,
		schemes:  []*runtime.Scheme{legacyscheme.Scheme, others},
		definitions: openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
			return spec.MustCreateRef("#/definitions/" + name)
		}),
		types:    map[string]*typeFacts{},
		packages: map[schema.GroupVersion]string{},
	}
	for _, version := range versions {
		for _, resource := range version.resources {
			gvk := version.kindOf(resource)
			if err := c.addKind(gvk); err != nil {
				return nil, err
			}
			if slices.Contains([]string(resource.Verbs), "list") {
				if err := c.addKind(gvk.GroupVersion().WithKind(gvk.Kind + "List")); err != nil {
					return nil, err
				}
			}
		}
	}
	// Options that discovery does not list: a log is read as a Pod.
	if err := c.addKind(schema.GroupVersionKind{Version: "v1", Kind: "PodLogOptions"}); err != nil {
		return nil, err
	}
	for _, kind := range metaKinds {
		c.add(reflect.TypeOf(kind)).isKind = true
	}
	for _, other := range otherTypes {
		c.add(reflect.TypeOf(other))
	}
	c.settleEnums()
	return c, nil
}

func (c *catalogue) addKind(gvk schema.GroupVersionKind) error {
	for _, scheme := range c.schemes {
		if !scheme.Recognizes(gvk) {
			continue
		}
		object, err := scheme.New(gvk)
		if err != nil {
			return err
		}
		goType := reflect.TypeOf(object).Elem()
		facts := c.add(goType)
		if !facts.isKind {
			facts.isKind = true
			c.kinds = append(c.kinds, kindType{gvk, goType, scheme})
		}
		pkg := strings.TrimSuffix(facts.name, "."+goType.Name())
		if known, ok := c.packages[gvk.GroupVersion()]; ok && known != pkg {
			return fmt.Errorf("%s has types in %s and %s", gvk.GroupVersion(), known, pkg)
		}
		c.packages[gvk.GroupVersion()] = pkg
		return nil
	}
	return fmt.Errorf("no Go type for %s", gvk)
}

func modelName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	host, rest, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
}

func packageOf(name string) string { return name[:strings.LastIndex(name, ".")] }

func (c *catalogue) add(t reflect.Type) *typeFacts {
	name := modelName(t)
	if facts, ok := c.types[name]; ok {
		return facts
	}
	facts := &typeFacts{name: name, goType: t}
	c.types[name] = facts
	definition := c.definitions[name].Schema
	facts.marks = c.typeMarks(definition)
	if form, ok := special[name]; ok {
		facts.form = form
		return facts
	}
	if t.Kind() != reflect.Struct {
		facts.form = c.expr(t, packageOf(name), true)
		// A list or map that protobuf wraps in a message of its own.
		if _, ok := reflect.New(t).Interface().(interface{ Unmarshal([]byte) error }); ok {
			facts.marks = append(facts.marks, "message")
		}
		return facts
	}
	facts.form = "struct"
	c.addFields(facts, t, definition, nil, "")
	return facts
}

func (c *catalogue) typeMarks(definition spec.Schema) (marks []string) {
	return extensionMarks(definition.Extensions, []string{"x-kubernetes-v2-schema"})
}

func (c *catalogue) addFields(facts *typeFacts, t reflect.Type, definition spec.Schema, via []string, inside string) {
	for i := range t.NumField() {
		field := t.Field(i)
		number := protobufNumber(field)
		if inside == nowhere {
			number = ""
		} else if number != "" {
			number = inside + number
		}
		tag := strings.Split(field.Tag.Get("json"), ",")
		name, options := tag[0], tag[1:]
		if name == "-" || (!field.IsExported() && !field.Anonymous) {
			continue
		}
		if name == "" && field.Anonymous {
			within := nowhere
			if number != "" {
				within = number + "."
			}
			c.addFields(facts, field.Type, definition, append(slices.Clone(via), field.Name), within)
			continue
		}
		property, known := definition.Properties[name]
		if !known && len(c.definitions[facts.name].Schema.Properties) > 0 {
			panic(fmt.Sprintf("%s.%s is not in the OpenAPI definition", facts.name, name))
		}
		out := &fieldFacts{name: name, goType: field.Type, expr: c.expr(field.Type, packageOf(facts.name), false), number: number}
		mark := func(format string, args ...any) { out.marks = append(out.marks, fmt.Sprintf(format, args...)) }
		if slices.Contains(definition.Required, name) {
			mark("!")
		}
		switch {
		case slices.Contains(options, "omitzero"):
			mark("0")
		// On a struct the option has no effect: there is no empty struct.
		case slices.Contains(options, "omitempty") && field.Type.Kind() != reflect.Struct:
			mark("?")
		}
		if len(via) > 0 {
			mark("via=%s", strings.Join(via, "."))
		}
		if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
			key := field.Tag.Get("patchMergeKey")
			if key != "" {
				key = "(" + key + ")"
			}
			mark("patch=%s%s", strategy, key)
		}
		out.marks = append(out.marks, extensionMarks(property.Extensions, []string{"x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"})...)
		if property.Format != "" && property.Format != usualFormat(field.Type) {
			mark("format=%s", property.Format)
		}
		declared, usual := "-", usualDefault(field.Type, !out.has("?") && !out.has("0"))
		if property.Default != nil {
			declared = compactJSON(property.Default)
		}
		if declared != usual && !(declared == "-" && usual == "") {
			mark("declared=%s", declared)
		}
		if property.Ref.String() != "" && property.Description == "" {
			mark("undescribed")
		}
		out.enum = enumOf(property)
		if base := namedScalar(field.Type); base != nil {
			c.noteEnum(base, out.enum)
		}
		facts.fields = append(facts.fields, out)
	}
}

// nowhere is where the fields of an embedded struct are in protobuf that is no field itself: a TypeMeta.
const nowhere = "-"

// protobufNumber also tells the Go name where the JSON name does not: decoding errors mention it. The wire type follows
// from the Go type; what the tag says of it is not what the generated code does for lists.
func protobufNumber(field reflect.StructField) string {
	tag := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		return ""
	}
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	// An embedded struct has its type's name.
	if field.Anonymous || strings.ToUpper(name[:1])+name[1:] == field.Name {
		return tag[1]
	}
	return tag[1] + ":" + field.Name
}

func (f *fieldFacts) has(mark string) bool { return slices.Contains(f.marks, mark) }

// usualDefault is what the OpenAPI generator declares on its own for a value that is always written.
func usualDefault(t reflect.Type, written bool) string {
	if !written || t.PkgPath() != "" && special[modelName(t)] != "" {
		return ""
	}
	switch t.Kind() {
	case reflect.Struct:
		return "{}"
	case reflect.String:
		return `""`
	case reflect.Bool:
		return "false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return "0"
	}
	return ""
}

func usualFormat(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Int, reflect.Uint32:
		return "int32"
	case reflect.Int64:
		return "int64"
	case reflect.Float64:
		return "double"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "byte"
		}
	}
	return ""
}

// extensionMarks renders x-kubernetes-* in short, everything unusual as it is.
func extensionMarks(extensions spec.Extensions, skip []string) (marks []string) {
	names := make([]string, 0, len(extensions))
	for name := range extensions {
		if !slices.Contains(skip, name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		value := extensions[name]
		switch name {
		case "x-kubernetes-list-type":
			if value == "map" {
				var keys []string
				roundTrip(extensions["x-kubernetes-list-map-keys"], &keys)
				marks = append(marks, fmt.Sprintf("list=map(%s)", strings.Join(keys, ",")))
			} else {
				marks = append(marks, fmt.Sprintf("list=%s", value))
			}
		case "x-kubernetes-list-map-keys":
			if extensions["x-kubernetes-list-type"] != "map" {
				panic("list-map-keys without list-type=map")
			}
		case "x-kubernetes-map-type":
			marks = append(marks, fmt.Sprintf("map=%s", value))
		default:
			marks = append(marks, fmt.Sprintf("%s=%s", name, compactJSON(value)))
		}
	}
	return marks
}

func roundTrip(from, into any) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(err)
	}
}

// compactJSON has no space, so that a line of the table can be split at spaces.
func compactJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(data), " ", `\u0020`)
}

func enumOf(property spec.Schema) []string {
	for property.Items != nil && property.Items.Schema != nil {
		property = *property.Items.Schema
	}
	if property.AdditionalProperties != nil && property.AdditionalProperties.Schema != nil {
		property = *property.AdditionalProperties.Schema
	}
	var values []string
	for _, value := range property.Enum {
		values = append(values, value.(string))
	}
	return values
}

func namedScalar(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() == reflect.String && t.PkgPath() != "" {
		return t
	}
	return nil
}

// noteEnum gathers a string type's values from its uses.
func (c *catalogue) noteEnum(t reflect.Type, values []string) {
	facts := c.add(t)
	if !facts.enumSeen {
		facts.enum, facts.enumSeen = values, true
	} else if !slices.Equal(facts.enum, values) && len(values) > 0 && len(facts.enum) == 0 {
		facts.enum = values
	}
}

// settleEnums keeps a field's own values only where they are not its type's.
func (c *catalogue) settleEnums() {
	list := func(values []string) string {
		if len(values) == 0 {
			return "enum=-"
		}
		return "enum=" + strings.ReplaceAll(strings.Join(values, "|"), " ", "%20")
	}
	for _, facts := range c.types {
		if len(facts.enum) > 0 {
			facts.marks = append(facts.marks, list(facts.enum))
		}
		for _, field := range facts.fields {
			var usual []string
			if base := namedScalar(field.goType); base != nil {
				usual = c.add(base).enum
			}
			if !slices.Equal(usual, field.enum) {
				field.marks = append(field.marks, list(field.enum))
			}
		}
	}
}

func (c *catalogue) expr(t reflect.Type, pkg string, underlying bool) string {
	if t.PkgPath() != "" && !underlying {
		name := c.add(t).name
		if packageOf(name) == pkg {
			return t.Name()
		}
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + c.expr(t.Elem(), pkg, false)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == "" {
			return "[]byte"
		}
		return "[]" + c.expr(t.Elem(), pkg, false)
	case reflect.Map:
		return "map[" + c.expr(t.Key(), pkg, false) + "]" + c.expr(t.Elem(), pkg, false)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return t.Kind().String()
	case reflect.Interface:
		return "any"
	}
	panic(fmt.Sprintf("no notation for %s", t))
}

func (c *catalogue) print() string {
	var text strings.Builder
	versions := make([]schema.GroupVersion, 0, len(c.packages))
	for version := range c.packages {
		versions = append(versions, version)
	}
	slices.SortFunc(versions, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	for _, version := range versions {
		fmt.Fprintf(&text, "@%s %s\n", version, c.packages[version])
	}
	names := make([]string, 0, len(c.types))
	for name := range c.types {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		facts := c.types[name]
		words := []string{name, facts.form}
		if facts.isKind {
			words = append(words, "kind")
		}
		if facts.defaults {
			words = append(words, "defaults")
		}
		fmt.Fprintln(&text, strings.Join(append(words, facts.marks...), " "))
		for _, field := range facts.fields {
			words := []string{field.name, field.expr}
			if field.number != "" {
				words = append(words, "#"+field.number)
			}
			words = append(words, field.marks...)
			if field.value != "" {
				words = append(words, "default="+field.value)
			}
			fmt.Fprintln(&text, " "+strings.Join(words, " "))
		}
	}
	return text.String()
}
