{{header}}//! The webhooks of `{{kind}}`, called by hand.

{{imports}}

#[kubewright::test]
async fn an_object_is_admitted() {
{{#if defaults}}
    let mut object = {{kind}}::default();
{{/if}}
{{#if !defaults}}
    let object = {{kind}}::default();
{{/if}}
    let request = AdmissionRequest::create(&object);
{{#if defaults}}
    {{call_defaulter}}
    assert!(defaulted.is_ok());
{{/if}}
{{#if validates}}
    {{call_validator}}
    assert!(verdict.is_ok());
{{/if}}
}
