// The peer: Kubernetes' CEL environment on cel-go, with the rules and the object of the bench.
//
// It does per rule what the real server does: the environment of the schema node is made once; a rule is parsed,
// checked and made a program with the server's options; for every evaluation the object is handed over through
// UnstructuredToVal, which is how the server's validator reads it. A second figure has cel-go alone: the same program
// on a plain Go map whose times were parsed before. It prints JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type input struct {
	Schema  json.RawMessage `json:"schema"`
	Object  json.RawMessage `json:"object"`
	Rules   []struct{ Name, Rule string }
	Batches int
	BatchMs int
}

type figures struct {
	Name     string  `json:"name"`
	Compile  float64 `json:"compile"`
	Eval     float64 `json:"eval"`
	Plain    float64 `json:"plain"`
	Allocs   float64 `json:"allocations"`
	Verdict  bool    `json:"verdict"`
	Cost     uint64  `json:"cost"`
	Estimate uint64  `json:"estimate"`
}

type answer struct {
	Version string    `json:"version"`
	Rules   []figures `json:"rules"`
	// Schema is the time to compile all rules of the schema as the server does: environments, programs, estimates.
	Schema float64 `json:"schema"`
}

// activation gives a program its variables, without a map.
type activation struct{ self, oldSelf any }

func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "self":
		return a.self, true
	case "oldSelf":
		return a.oldSelf, true
	}
	return nil, false
}

func (a *activation) Parent() interpreter.Activation { return nil }

func main() {
	text, err := io.ReadAll(os.Stdin)
	must(err)
	var in input
	must(json.Unmarshal(text, &in))
	structural, object := read(in)
	declType := model.SchemaDeclType(structural, true)
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	env := ruleEnv(base, declType)
	estimator := &library.CostEstimator{}

	out := answer{Version: moduleVersions()}
	for _, rule := range in.Rules {
		compile := func() cel.Program {
			ast, issues := env.Compile(rule.Rule)
			if issues != nil {
				must(fmt.Errorf("%s: %s", rule.Name, issues))
			}
			program, err := env.Program(ast,
				cel.CostLimit(celconfig.PerCallLimit),
				cel.CostTracking(estimator),
				cel.InterruptCheckFrequency(celconfig.CheckFrequency),
			)
			must(err)
			return program
		}
		program := compile()
		ctx := context.Background()
		evaluate := func() (ref.Val, *cel.EvalDetails) {
			variables := &activation{
				self:    schemacel.UnstructuredToVal(object, structural),
				oldSelf: schemacel.UnstructuredToVal(object, structural),
			}
			value, details, err := program.ContextEval(ctx, variables)
			must(err)
			return value, details
		}
		plain := parsedTimes(object, structural)
		evaluatePlain := func() (ref.Val, *cel.EvalDetails) {
			value, details, err := program.ContextEval(ctx, &activation{self: plain, oldSelf: plain})
			must(err)
			return value, details
		}
		value, details := evaluate()
		if same, sameDetails := evaluatePlain(); same.Equal(value) != types.True || *sameDetails.ActualCost() != *details.ActualCost() {
			must(fmt.Errorf("%s differs on a plain map", rule.Name))
		}
		verdict, ok := value.Value().(bool)
		if !ok {
			must(fmt.Errorf("%s is no verdict", rule.Name))
		}
		out.Rules = append(out.Rules, figures{
			Name:     rule.Name,
			Compile:  in.measure(func() { compile() }),
			Eval:     in.measure(func() { evaluate() }),
			Plain:    in.measure(func() { evaluatePlain() }),
			Allocs:   allocations(func() { evaluate() }),
			Verdict:  verdict,
			Cost:     *details.ActualCost(),
			Estimate: estimate(structural, declType, base, rule.Rule),
		})
	}
	whole := *structural
	for _, rule := range in.Rules {
		whole.XValidations = append(whole.XValidations, apiextensionsv1.ValidationRule{Rule: rule.Rule})
	}
	out.Schema = in.measure(func() { compileSchema(&whole, declType, base) })
	must(json.NewEncoder(os.Stdout).Encode(out))
}

func read(in input) (*schema.Structural, map[string]any) {
	var v1 apiextensionsv1.JSONSchemaProps
	must(json.Unmarshal(in.Schema, &v1))
	var internal apiextensions.JSONSchemaProps
	must(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil))
	structural, err := schema.NewStructural(&internal)
	must(err)
	object := map[string]any{}
	must(utiljson.Unmarshal(in.Object, &object))
	// The server adds what every object has before it reads one.
	return model.WithTypeAndObjectMeta(structural), object
}

// parsedTimes copies a value with what its schema calls a date-time as a time.
func parsedTimes(value any, s *schema.Structural) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, field := range value {
			property := s.Properties[name]
			out[name] = parsedTimes(field, &property)
		}
		return out
	case string:
		if s.ValueValidation != nil && s.ValueValidation.Format == "date-time" {
			parsed, err := time.Parse(time.RFC3339, value)
			must(err)
			return parsed
		}
	}
	return value
}

// ruleEnv is the environment of the rules at one node of a schema, made once for all of them.
func ruleEnv(base *environment.EnvSet, declType *apiservercel.DeclType) *cel.Env {
	scoped := declType.MaybeAssignTypeName("selfType0")
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", scoped.CelType()),
			cel.Variable("oldSelf", scoped.CelType()),
		},
		DeclTypes: []*apiservercel.DeclType{scoped},
	})
	must(err)
	return set.NewExpressionsEnv()
}

func compileSchema(s *schema.Structural, declType *apiservercel.DeclType, base *environment.EnvSet) []schemacel.CompilationResult {
	results, err := schemacel.Compile(s, declType, celconfig.PerCallLimit, base, schemacel.NewExpressionsEnvLoader())
	must(err)
	for _, result := range results {
		if result.Error != nil {
			must(fmt.Errorf("%s", result.Error.Detail))
		}
	}
	return results
}

func estimate(s *schema.Structural, declType *apiservercel.DeclType, base *environment.EnvSet, rule string) uint64 {
	one := *s
	one.XValidations = apiextensionsv1.ValidationRules{{Rule: rule}}
	return compileSchema(&one, declType, base)[0].MaxCost
}

// measure returns nanoseconds per call: the best of some batches, so that neighbours on the machine do not count.
func (in input) measure(work func()) float64 {
	batch := time.Duration(in.BatchMs) * time.Millisecond
	calls := 1
	for {
		began := time.Now()
		for range calls {
			work()
		}
		if took := time.Since(began); took >= batch/4 {
			calls = max(1, int(float64(calls)*float64(batch)/float64(took)))
			break
		}
		calls *= 2
	}
	best := 0.0
	for round := range in.Batches {
		began := time.Now()
		for range calls {
			work()
		}
		each := float64(time.Since(began).Nanoseconds()) / float64(calls)
		if round == 0 || each < best {
			best = each
		}
	}
	return best
}

func allocations(work func()) float64 {
	const calls = 1000
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		work()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls
}

func moduleVersions() string {
	info, _ := debug.ReadBuildInfo()
	versions := map[string]string{}
	for _, module := range info.Deps {
		versions[module.Path] = module.Version
	}
	return fmt.Sprintf("cel-go %s, k8s.io/apiserver %s, %s",
		versions["github.com/google/cel-go"], versions["k8s.io/apiserver"], runtime.Version())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
