// Command flags writes what kube-apiserver takes on its command line: its flags, its feature gates and its admission plugins, as a
// line of tab-separated fields each.
//
//	flag     NAME  SHORTHAND  TYPE  SECTION  DEFAULT  VALUE_IF_NONE_IS_GIVEN  DEPRECATED
//	gate     NAME  STAGE      DEFAULT  LOCKED
//	plugin   NAME  DEFAULT
//
// Nothing of their descriptions is written.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // The flags of its format.
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

func main() {
	sets := options.NewServerRunOptions().Flags()
	verflag.AddFlags(sets.FlagSet("global"))
	globalflag.AddGlobalFlags(sets.FlagSet("global"), "kube-apiserver", logs.SkipLoggingConfigurationFlags())
	var lines []string
	for section, set := range sets.FlagSets {
		set.VisitAll(func(flag *pflag.Flag) {
			lines = append(lines, line("flag", flag.Name, flag.Shorthand, flag.Value.Type(), section, flag.DefValue, flag.NoOptDefVal,
				strconv.FormatBool(flag.Deprecated != "")))
		})
	}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		stage := string(spec.PreRelease)
		if stage == "" {
			stage = "GA"
		}
		lines = append(lines, line("gate", string(name), stage, strconv.FormatBool(spec.Default), strconv.FormatBool(spec.LockToDefault)))
	}
	off := kubeoptions.DefaultOffAdmissionPlugins()
	for _, name := range kubeoptions.AllOrderedPlugins {
		lines = append(lines, line("plugin", name, strconv.FormatBool(!off.Has(name))))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(os.Stdout, line)
	}
}

func line(fields ...string) string {
	for at, field := range fields {
		fields[at] = strings.NewReplacer("\t", " ", "\n", " ").Replace(field)
	}
	return strings.Join(fields, "\t")
}
