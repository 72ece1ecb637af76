//! Finds the items that other crates can name, and writes the lines that list them.

use std::collections::{BTreeMap, BTreeSet};

use quote::quote;
use syn::{Attribute, Fields, FnArg, ImplItem, Item, ItemImpl, Pat, Signature, TraitItem, Type, Visibility};

use crate::crate_source::{CrateSource, ModulePath, attributes};
use crate::print::one_line;
use crate::resolve::{Target, imports, named};

/// A line and the path by which it is sorted.
type Line = (String, String);

/// The public items of a crate, a line each, sorted by path.
pub(crate) fn lines(source: &CrateSource) -> Vec<String> {
    let mut exports = Exports {
        source,
        items: BTreeMap::new(),
        lines: BTreeSet::new(),
        open: Vec::new(),
    };
    exports.visit(&[], &[]);
    exports.print()
}

struct Exports<'a> {
    source: &'a CrateSource,
    /// The public paths of each item, by where it is defined.
    items: BTreeMap<(ModulePath, String), BTreeSet<(usize, String)>>,
    lines: BTreeSet<Line>,
    /// The modules being visited: a glob may lead back to one.
    open: Vec<(ModulePath, Vec<String>)>,
}

impl Exports<'_> {
    /// Visits the public items of a module, whose own public path is `public`.
    fn visit(&mut self, module: &[String], public: &[String]) {
        let here = (module.to_vec(), public.to_vec());
        if self.open.contains(&here) {
            return;
        }
        self.open.push(here);
        let source = self.source;
        for item in source.modules.get(module).into_iter().flatten() {
            match item {
                Item::Mod(child) if is_public(&child.vis) => {
                    let name = child.ident.to_string();
                    self.visit_module(&join(module, &name), &join(public, &name), &child.attrs);
                }
                Item::Use(item) if is_public(&item.vis) => {
                    for import in imports(&item.tree) {
                        self.visit_import(module, public, &import.path, import.name, &item.attrs);
                    }
                }
                Item::Macro(item) if item.mac.tokens.to_string().contains("pub ") && item.ident.is_none() => {
                    let name = one_line(&item.mac.path);
                    let line = format!("{name}! {{ {} }}", one_line(&item.mac.tokens));
                    self.lines.insert((join(public, &name).join("::"), line));
                }
                Item::Macro(item)
                    if item
                        .attrs
                        .iter()
                        .any(|attribute| attribute.path().is_ident("macro_export")) =>
                {
                    let name = item.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                    self.lines.insert((name.clone(), format!("macro_rules! {name}")));
                }
                other => {
                    if let Some((name, visibility)) = named(other)
                        && is_public(visibility)
                    {
                        self.export(module, &name, &join(public, &name));
                    }
                }
            }
        }
        self.open.pop();
    }

    fn visit_module(&mut self, module: &[String], public: &[String], attributes: &[Attribute]) {
        let path = public.join("::");
        self.lines
            .insert((path.clone(), format!("{}pub mod {path}", conditions(attributes))));
        self.visit(module, public);
    }

    fn visit_import(
        &mut self,
        module: &[String],
        public: &[String],
        path: &[String],
        name: Option<String>,
        attributes: &[Attribute],
    ) {
        match (self.source.resolve(module, path), name) {
            (Some(Target::Module(target)), Some(name)) => self.visit_module(&target, &join(public, &name), attributes),
            (Some(Target::Module(target)), None) => self.visit(&target, public),
            (Some(Target::Item(module, item)), Some(name)) => self.export(&module, &item, &join(public, &name)),
            (Some(Target::Item(..)), None) => {}
            (None, Some(name)) => {
                let (public, foreign) = (join(public, &name).join("::"), path.join("::"));
                let line = format!("{}pub use {public} = {foreign}", conditions(attributes));
                self.lines.insert((public, line));
            }
            (None, None) => {
                let public = join(public, "*").join("::");
                let line = format!("{}pub use {public} = {}::*", conditions(attributes), path.join("::"));
                self.lines.insert((public, line));
            }
        }
    }

    fn export(&mut self, module: &[String], name: &str, public: &[String]) {
        let paths = self.items.entry((module.to_vec(), name.to_owned())).or_default();
        paths.insert((public.len(), public.join("::")));
    }

    /// The shortest public path of an item.
    fn path(&self, module: &[String], name: &str) -> Option<&str> {
        let paths = self.items.get(&(module.to_vec(), name.to_owned()))?;
        paths.first().map(|(_, path)| path.as_str())
    }

    fn print(mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.lines);
        for ((module, name), paths) in &self.items {
            let mut paths = paths.iter().map(|(_, path)| path.as_str());
            let Some(path) = paths.next() else { continue };
            for other in paths {
                lines.insert((other.to_owned(), format!("pub use {other} = {path}")));
            }
            let items = self.source.modules.get(module).into_iter().flatten();
            for item in items.filter(|item| named(item).is_some_and(|(known, _)| known == *name)) {
                print_item(item, path, &mut lines);
            }
        }
        for (module, items) in &self.source.modules {
            for item in items {
                if let Item::Impl(item) = item {
                    self.print_impl(module, item, &mut lines);
                }
            }
        }
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn print_impl(&self, module: &[String], item: &ItemImpl, lines: &mut BTreeSet<Line>) {
        let owner = self.reach_of_type(module, &item.self_ty);
        let conditions = conditions(&item.attrs);
        let Some((implemented, _)) = &item.trait_ else {
            if let Reach::Public(path) = owner {
                for member in &item.items {
                    print_member(member, path, &conditions, lines);
                }
            }
            return;
        };
        // The implementation is listed unless its type or its trait is private, or both are of other crates.
        let key = match (owner, self.reach(module, implemented)) {
            (Reach::Private, _) | (_, Reach::Private) | (Reach::Foreign, Reach::Foreign) => return,
            (Reach::Public(path), _) | (Reach::Foreign, Reach::Public(path)) => path,
        };
        let (generics, ty) = (&item.generics, &item.self_ty);
        let where_clause = &item.generics.where_clause;
        let text = one_line(&quote!(impl #generics #implemented for #ty #where_clause));
        lines.insert((format!("{key} impl"), format!("{conditions}{text} [{key}]")));
    }

    fn reach_of_type(&self, module: &[String], ty: &Type) -> Reach<'_> {
        match ty {
            Type::Reference(reference) => self.reach_of_type(module, &reference.elem),
            Type::Path(path) => self.reach(module, &path.path),
            _ => Reach::Foreign,
        }
    }

    fn reach(&self, module: &[String], path: &syn::Path) -> Reach<'_> {
        let path: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        match self.source.resolve(module, &path) {
            Some(Target::Item(module, name)) => self.path(&module, &name).map_or(Reach::Private, Reach::Public),
            _ => Reach::Foreign,
        }
    }
}

/// Who can name a type or a trait.
enum Reach<'a> {
    /// It is defined in another crate.
    Foreign,
    /// Only this crate can.
    Private,
    /// Every crate can, by this path.
    Public(&'a str),
}

fn print_item(item: &Item, path: &str, lines: &mut BTreeSet<Line>) {
    let conditions = conditions(attributes(item));
    let mut add = |key: &str, text: String| {
        // Members are listed under the conditions of their item.
        let conditions = if key == path { &*conditions } else { "" };
        lines.insert((key.to_owned(), format!("{conditions}{text}")));
    };
    match item {
        Item::Const(item) => {
            add(path, format!("pub const {path}: {}", one_line(&item.ty)));
        }
        Item::Static(item) => {
            add(path, format!("pub static {path}: {}", one_line(&item.ty)));
        }
        Item::Fn(item) => {
            add(path, format!("pub {}", signature(&item.sig, path)));
        }
        Item::Type(item) => {
            let (generics, ty) = (one_line(&item.generics), one_line(&item.ty));
            add(path, format!("pub type {path}{generics} = {ty}"));
        }
        Item::Struct(item) => {
            let (generics, bounds) = (one_line(&item.generics), where_clause(&item.generics));
            let rest = if let Fields::Unnamed(_) = item.fields {
                fields(&item.fields, true)
            } else {
                String::new()
            };
            let is_open = item.fields.iter().all(|field| is_public(&field.vis));
            let dots = if matches!(item.fields, Fields::Named(_)) && !is_open {
                " { .. }"
            } else {
                ""
            };
            add(path, format!("pub struct {path}{generics}{rest}{bounds}{dots}"));
            for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                if let Some(name) = &field.ident {
                    let key = format!("{path}::{name}");
                    add(&key, format!("pub {key}: {}", one_line(&field.ty)));
                }
            }
        }
        Item::Enum(item) => {
            let (generics, bounds) = (one_line(&item.generics), where_clause(&item.generics));
            add(path, format!("pub enum {path}{generics}{bounds}"));
            for variant in &item.variants {
                let key = format!("{path}::{}", variant.ident);
                add(&key, format!("pub {key}{}", fields(&variant.fields, false)));
            }
        }
        Item::Trait(item) => {
            let (generics, bounds) = (one_line(&item.generics), where_clause(&item.generics));
            let above = &item.supertraits;
            let above = if above.is_empty() {
                String::new()
            } else {
                format!(": {}", one_line(above))
            };
            add(path, format!("pub trait {path}{generics}{above}{bounds}"));
            for member in &item.items {
                match member {
                    TraitItem::Fn(function) => {
                        let key = format!("{path}::{}", function.sig.ident);
                        let body = if function.default.is_some() { " { .. }" } else { "" };
                        add(&key, format!("pub {}{body}", signature(&function.sig, &key)));
                    }
                    TraitItem::Const(constant) => {
                        let key = format!("{path}::{}", constant.ident);
                        add(&key, format!("pub const {key}: {}", one_line(&constant.ty)));
                    }
                    TraitItem::Type(ty) => {
                        let key = format!("{path}::{}", ty.ident);
                        let bounds = &ty.bounds;
                        let bounds = if bounds.is_empty() {
                            String::new()
                        } else {
                            format!(": {}", one_line(bounds))
                        };
                        add(&key, format!("pub type {key}{bounds}"));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let derived = derives(attributes(item));
    if !derived.is_empty() {
        add(&format!("{path} impl"), format!("impl {} [{path}]", derived.join(", ")));
    }
}

fn print_member(member: &ImplItem, path: &str, outer: &str, lines: &mut BTreeSet<Line>) {
    let (attributes, key, text) = match member {
        ImplItem::Fn(function) if is_public(&function.vis) => {
            let key = format!("{path}::{}", function.sig.ident);
            let text = signature(&function.sig, &key);
            (&function.attrs, key, text)
        }
        ImplItem::Const(constant) if is_public(&constant.vis) => {
            let key = format!("{path}::{}", constant.ident);
            let text = format!("const {key}: {}", one_line(&constant.ty));
            (&constant.attrs, key, text)
        }
        _ => return,
    };
    let line = format!("{outer}{}pub {text}", conditions(attributes));
    lines.insert((key, line));
}

fn signature(signature: &Signature, path: &str) -> String {
    let mut words = String::new();
    for (is_set, word) in [
        (signature.constness.is_some(), "const "),
        (signature.asyncness.is_some(), "async "),
    ] {
        words.push_str(if is_set { word } else { "" });
    }
    let inputs: Vec<String> = signature.inputs.iter().map(input).collect();
    let output = one_line(&signature.output);
    let gap = if output.is_empty() { "" } else { " " };
    let generics = one_line(&signature.generics);
    let bounds = where_clause(&signature.generics);
    format!("{words}fn {path}{generics}({}){gap}{output}{bounds}", inputs.join(", "))
}

/// An argument as callers see it, without the `mut` of its pattern.
fn input(argument: &FnArg) -> String {
    match argument {
        FnArg::Typed(typed) => {
            let mut typed = typed.clone();
            if let Pat::Ident(name) = &mut *typed.pat {
                name.mutability = None;
            }
            one_line(&typed)
        }
        FnArg::Receiver(_) => {
            let text = one_line(argument);
            text.strip_prefix("mut ").map(str::to_owned).unwrap_or(text)
        }
    }
}

fn where_clause(generics: &syn::Generics) -> String {
    let text = generics.where_clause.as_ref().map(one_line).unwrap_or_default();
    let text = text.trim_end_matches(',');
    if text.is_empty() {
        String::new()
    } else {
        format!(" {text}")
    }
}

/// The fields of a variant, which are all public, or of a tuple struct, whose private fields are printed as `_`.
fn fields(fields: &Fields, is_struct: bool) -> String {
    let texts: Vec<String> = fields
        .iter()
        .map(|field| match &field.ident {
            Some(name) => format!("{name}: {}", one_line(&field.ty)),
            None if is_struct && !is_public(&field.vis) => "_".to_owned(),
            None => one_line(&field.ty),
        })
        .collect();
    match fields {
        Fields::Named(_) => format!(" {{ {} }}", texts.join(", ")),
        Fields::Unnamed(_) => format!("({})", texts.join(", ")),
        Fields::Unit => String::new(),
    }
}

/// The attributes that decide whether an item exists and is documented: `cfg` and `doc(hidden)`.
fn conditions(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        let is_hidden = attribute.path().is_ident("doc")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "hidden");
        let counts = attribute.path().is_ident("cfg") || attribute.path().is_ident("non_exhaustive");
        if counts || is_hidden {
            text.push_str("#[");
            text.push_str(&one_line(&attribute.meta));
            text.push_str("] ");
        }
    }
    text
}

/// The names of the derived traits and macros, sorted.
fn derives(attributes: &[Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
    {
        if let syn::Meta::List(list) = &attribute.meta {
            names.extend(one_line(&list.tokens).split(", ").map(str::to_owned));
        }
    }
    names.sort();
    names
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn join(path: &[String], name: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(name.to_owned());
    path
}
