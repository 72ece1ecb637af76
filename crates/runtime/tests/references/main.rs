//! The three reference controllers, written on the runtime and run on the embedded server: `MarkdownView` (the kubebuilder way,
//! as its book has it), `Bar` (the same for a `Deployment`, cleaning up after itself) and `Foo` (by hand, the client-go way).

mod bar;
mod foo;
mod markdown_view;
mod support;
