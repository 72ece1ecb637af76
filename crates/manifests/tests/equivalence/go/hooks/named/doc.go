// Package named has configurations with names of their own, a port of its own and a webhook that is elsewhere.
// +kubebuilder:webhookconfiguration:mutating=true,name=shop-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=shop-validating-webhook-configuration
package named

// +kubebuilder:webhook:path=/mutate--v1-configmap,mutating=true,failurePolicy=fail,sideEffects=None,groups=core,resources=configmaps,verbs=create;update,versions=v1,name=mconfigmap.kb.io,admissionReviewVersions=v1,serviceName=shop-webhook-service,serviceNamespace=shop-system,servicePort=8443
// +kubebuilder:webhook:url="https://hooks.example.com:8443/validate--v1-configmap",mutating=false,failurePolicy=fail,sideEffects=None,groups=core,resources=configmaps,verbs=create;update,versions=v1,name=vconfigmap.kb.io,admissionReviewVersions=v1
