// Command promql reads Grafana dashboards (JSON) and PrometheusRules (YAML) and lets Prometheus' own parser judge every expression
// in them.
//
//	go run . DASHBOARD.json ALERTS.yaml
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func main() {
	failed := len(os.Args) < 2
	for _, path := range os.Args[1:] {
		count, errs := check(path)
		for _, err := range errs {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
		}
		failed = failed || len(errs) > 0 || count == 0
		fmt.Printf("%s: %d expressions, %d mistakes\n", path, count, len(errs))
	}
	if failed {
		os.Exit(1)
	}
}

func check(path string) (int, []error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, []error{err}
	}
	if strings.HasSuffix(path, ".json") {
		return dashboard(text)
	}
	return rules(text)
}

// dashboard parses the expression of every target. Grafana puts values in place of its variables before Prometheus sees them.
func dashboard(text []byte) (int, []error) {
	var page struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return 0, []error{err}
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "shop-system", "$job", "shop", "$controller", "order|cart")
	count, errs := 0, []error(nil)
	for _, panel := range page.Panels {
		for _, target := range panel.Targets {
			count++
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(target.Expr)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", panel.Title, target.Expr, err))
			}
		}
	}
	return count, errs
}

// rules parses the groups of a PrometheusRule as Prometheus reads a file of rules: expressions, durations, labels and templates.
func rules(text []byte) (int, []error) {
	var object struct {
		Spec yaml.Node `yaml:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return 0, []error{err}
	}
	spec, err := yaml.Marshal(&object.Spec)
	if err != nil {
		return 0, []error{err}
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default())
	count := 0
	if groups != nil {
		for _, group := range groups.Groups {
			count += len(group.Rules)
		}
	}
	return count, errs
}
