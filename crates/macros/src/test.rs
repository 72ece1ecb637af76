//! `#[kubewright::test]`: an async function as a test, with a runtime of its own, in real or virtual time.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, ItemFn, LitInt, LitStr, Token};

/// The arguments of the attribute.
#[derive(Default)]
struct Options {
    virtual_time: Option<Span>,
    multi_thread: Option<Span>,
    worker_threads: Option<(usize, Span)>,
}

/// `virtual_time`, `flavor = "multi_thread"`, `worker_threads = 2`.
enum TestOption {
    VirtualTime(Span),
    Flavor(LitStr),
    WorkerThreads(LitInt),
}

impl Parse for TestOption {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        match name.to_string().as_str() {
            "virtual_time" => Ok(TestOption::VirtualTime(name.span())),
            "flavor" => {
                input.parse::<Token![=]>()?;
                input.parse().map(TestOption::Flavor)
            }
            "worker_threads" => {
                input.parse::<Token![=]>()?;
                input.parse().map(TestOption::WorkerThreads)
            }
            other => Err(Error::new(
                name.span(),
                format!(
                    "unknown option `{other}`; there are `virtual_time`, `flavor = \"multi_thread\"` and `worker_threads = …`"
                ),
            )),
        }
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Options::default();
        for word in Punctuated::<TestOption, Token![,]>::parse_terminated(input)? {
            match word {
                TestOption::VirtualTime(span) => options.virtual_time = Some(span),
                TestOption::Flavor(flavor) => match flavor.value().as_str() {
                    "current_thread" => options.multi_thread = None,
                    "multi_thread" => options.multi_thread = Some(flavor.span()),
                    _ => {
                        let text = "the flavor is \"current_thread\" or \"multi_thread\"";
                        return Err(Error::new(flavor.span(), text));
                    }
                },
                TestOption::WorkerThreads(number) => {
                    let threads = number.base10_parse::<usize>()?;
                    if threads == 0 {
                        return Err(Error::new(number.span(), "there has to be a thread"));
                    }
                    options.worker_threads = Some((threads, number.span()));
                }
            }
        }
        options.check()
    }
}

impl Options {
    fn check(self) -> syn::Result<Self> {
        if let (Some(_), Some(span)) = (self.virtual_time, self.multi_thread) {
            let text = "virtual time needs a runtime of one thread: leave `flavor` out";
            return Err(Error::new(span, text));
        }
        if let (None, Some((_, span))) = (self.multi_thread, self.worker_threads) {
            return Err(Error::new(span, "`worker_threads` needs `flavor = \"multi_thread\"`"));
        }
        Ok(self)
    }
}

/// The test. `testing` is where the runtime of tests is.
pub(crate) fn expand(options: TokenStream, item: &TokenStream, testing: &TokenStream) -> TokenStream {
    match try_expand(options, item.clone(), testing) {
        Ok(test) => test,
        // The function is kept, so that the compiler reports no further errors.
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#error #item)
        }
    }
}

fn try_expand(options: TokenStream, item: TokenStream, testing: &TokenStream) -> syn::Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(item)?;
    if function.sig.asyncness.take().is_none() {
        let text = "a test is an async function: write `async fn`, or `#[test]` for one that is not";
        return Err(Error::new_spanned(function.sig.fn_token, text));
    }
    if !function.sig.inputs.is_empty() {
        return Err(Error::new_spanned(&function.sig.inputs, "a test has no arguments"));
    }
    let mut runtime = quote!(#testing::TestRuntime::new());
    if options.virtual_time.is_some() {
        runtime = quote!(#runtime.virtual_time());
    }
    if options.multi_thread.is_some() {
        let threads = options.worker_threads.map_or(2, |(threads, _)| threads);
        runtime = quote!(#runtime.workers(#threads));
    }
    let ItemFn {
        attrs, vis, sig, block, ..
    } = function;
    // A block that ends in a loop or a panic has no type of its own; the function's return type is.
    let output = match &sig.output {
        syn::ReturnType::Default => quote!(()),
        syn::ReturnType::Type(_, ty) => quote!(#ty),
    };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis #sig {
            let test = async move {
                let answer: #output = async move #block.await;
                answer
            };
            #runtime.run(test)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(options: TokenStream, item: TokenStream) -> String {
        try_expand(options, item, &quote!(::t)).unwrap_err().to_string()
    }

    fn expanded(options: TokenStream) -> String {
        try_expand(
            options,
            quote!(
                async fn works() {}
            ),
            &quote!(::t),
        )
        .unwrap()
        .to_string()
    }

    #[test]
    fn a_test_runs_in_a_runtime_of_its_own() {
        assert!(expanded(quote!()).contains(":: t :: TestRuntime :: new () . run (test)"));
        assert!(expanded(quote!(virtual_time)).contains(". virtual_time () . run (test)"));
        assert!(expanded(quote!(flavor = "multi_thread", worker_threads = 4)).contains(". workers (4usize)"));
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let works = || {
            quote!(
                async fn works() {}
            )
        };
        let both = quote!(virtual_time, flavor = "multi_thread");
        assert!(message(both, works()).contains("one thread"));
        assert!(message(quote!(worker_threads = 2), works()).contains("flavor"));
        assert!(message(quote!(virtual_tme), works()).contains("unknown option `virtual_tme`"));
        assert!(
            message(
                quote!(),
                quote!(
                    fn works() {}
                )
            )
            .contains("async fn")
        );
        assert!(
            message(
                quote!(),
                quote!(
                    async fn works(a: u32) {}
                )
            )
            .contains("no arguments")
        );
    }
}
