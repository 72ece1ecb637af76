module kubewright.dev/conformance/upstream/text

go 1.26.0
