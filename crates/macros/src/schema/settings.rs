//! What `#[kubewright::schema(…)]` itself takes.

use proc_macro2::TokenStream;
use syn::parse::Parser as _;
use syn::{Error, LitBool};

use crate::words;

/// What holds for a whole type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Fields may be left out unless they say `required`.
    pub(crate) optional: bool,
    /// Whether the type gets a twin for server-side apply.
    pub(crate) apply: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            optional: false,
            apply: true,
        }
    }
}

impl Settings {
    pub(crate) const KEYS: [&str; 3] = ["optional", "required", "apply"];

    pub(super) fn parse(arguments: TokenStream) -> Result<Self, Error> {
        let mut settings = Settings::default();
        let parser = syn::meta::parser(|meta| {
            if settings.read(&meta)? {
                return Ok(());
            }
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if matches!(name.as_str(), "group" | "version" | "kind") {
                return Err(meta.error("a kind is written with `#[kubewright::resource(…)]` above its spec"));
            }
            Err(words::unknown(&meta.path, &Settings::KEYS))
        });
        parser.parse2(arguments)?;
        Ok(settings)
    }

    /// Reads a key that types of all sorts take; says whether it was one.
    pub(crate) fn read(&mut self, meta: &syn::meta::ParseNestedMeta<'_>) -> Result<bool, Error> {
        if meta.path.is_ident("optional") {
            self.optional = true;
        } else if meta.path.is_ident("required") {
            self.optional = false;
        } else if meta.path.is_ident("apply") {
            self.apply = meta.value()?.parse::<LitBool>()?.value;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
