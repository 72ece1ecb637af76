//! The tree of an expression, after macros were expanded.
//! Every node has an id; the id finds its place in the text, its type and its resolved overloads.

use std::collections::BTreeMap;

/// A constant written in an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit unsigned integer.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(String),
    /// A sequence of bytes.
    Bytes(Vec<u8>),
}

/// One node of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// The number of the node within its expression.
    pub id: u32,
    /// What the node is.
    pub kind: ExprKind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A name; a leading dot means the root scope.
    Ident(String),
    /// `operand.field`, or with `test_only` the expansion of `has(operand.field)`.
    Select {
        /// What the field is read from.
        operand: Box<Expr>,
        /// The name of the field.
        field: String,
        /// Whether only the presence of the field is asked.
        test_only: bool,
    },
    /// A call of a function, an operator or, with a target, a method.
    Call {
        /// The receiver of a method call.
        target: Option<Box<Expr>>,
        /// The name of the function; operators have names such as `_+_`.
        function: String,
        /// The arguments without the target.
        args: Vec<Expr>,
    },
    /// `[a, ?b]`
    List {
        /// The elements.
        elements: Vec<Expr>,
        /// Which elements are optional, by index.
        optionals: Vec<usize>,
    },
    /// `{a: b, ?c: d}`
    Map(Vec<Entry>),
    /// `Name{field: value}`
    Struct {
        /// The name of the message type.
        name: String,
        /// The fields; keys are literal strings.
        fields: Vec<Entry>,
    },
    /// The expansion of a macro that iterates.
    Comprehension(Box<Comprehension>),
}

/// An entry of a map or struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the entry.
    pub id: u32,
    /// The key; a literal string in a struct.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// Whether the entry was written with `?`.
    pub optional: bool,
}

/// A loop over a list or map with an accumulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension {
    /// What is iterated.
    pub range: Expr,
    /// The name of the element, or of the index or key when there are two names.
    pub var: String,
    /// The name of the value in a comprehension with two names.
    pub var2: Option<String>,
    /// The name of the accumulator.
    pub accu: String,
    /// The accumulator before the first step.
    pub init: Expr,
    /// Iteration continues while this holds.
    pub condition: Expr,
    /// The accumulator after a step.
    pub step: Expr,
    /// The value of the whole loop.
    pub result: Expr,
}

/// A parsed expression: the tree and where each node stands in the text.
#[derive(Debug, Clone)]
pub struct Ast {
    /// The root of the tree.
    pub root: Expr,
    pub(crate) offsets: Vec<u32>,
    /// The calls of macros as they were written, by the ids of their expansions; empty unless the parser keeps them.
    /// A macro within a macro is only its id here.
    pub(crate) macro_calls: BTreeMap<u32, Expr>,
}

impl From<Expr> for Ast {
    /// A tree that was built, not parsed: its nodes get new numbers and have no position in a text.
    fn from(mut root: Expr) -> Self {
        let mut count = 0;
        root.for_each_id(&mut |id| {
            count += 1;
            *id = count;
        });
        Self {
            root,
            offsets: vec![0; count as usize + 1],
            macro_calls: BTreeMap::new(),
        }
    }
}

impl Expr {
    /// Calls `change` with the id of this node and of every node and entry below it, in the order of the text.
    pub(crate) fn for_each_id(&mut self, change: &mut impl FnMut(&mut u32)) {
        change(&mut self.id);
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Ident(_) => {}
            ExprKind::Select { operand, .. } => operand.for_each_id(change),
            ExprKind::Call { target, args, .. } => {
                for part in target.as_deref_mut().into_iter().chain(args) {
                    part.for_each_id(change);
                }
            }
            ExprKind::List { elements, .. } => {
                for element in elements {
                    element.for_each_id(change);
                }
            }
            ExprKind::Map(entries) | ExprKind::Struct { fields: entries, .. } => {
                for entry in entries {
                    change(&mut entry.id);
                    entry.key.for_each_id(change);
                    entry.value.for_each_id(change);
                }
            }
            ExprKind::Comprehension(fold) => {
                for part in [
                    &mut fold.range,
                    &mut fold.init,
                    &mut fold.condition,
                    &mut fold.step,
                    &mut fold.result,
                ] {
                    part.for_each_id(change);
                }
            }
        }
    }
}

impl Ast {
    /// The code point at which a node is reported.
    pub fn offset(&self, id: u32) -> usize {
        self.offsets.get(id as usize).copied().unwrap_or(0) as usize
    }

    /// The call that was written where a macro's expansion stands, if the parser was asked to keep it.
    pub(crate) fn macro_call(&self, id: u32) -> Option<&Expr> {
        self.macro_calls.get(&id)
    }

    /// How many nodes there may be: ids are smaller than this.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether the tree has no node.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
}

/// Reads `a.b.c` as one name, as long as it consists of names and plain selections.
pub(crate) fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Ident(name) => Some(name.clone()),
        ExprKind::Select {
            operand,
            field,
            test_only: false,
        } => {
            let mut name = qualified_name(operand)?;
            name.push('.');
            name.push_str(field);
            Some(name)
        }
        _ => None,
    }
}

/// Names of operators as cel-go calls them.
pub(crate) mod op {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub(crate) const NOT: &str = "!_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPT_INDEX: &str = "_[?_]";
    pub(crate) const OPT_SELECT: &str = "_?._";
    pub(crate) const IN: &str = "@in";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    /// The accumulator of macros; not a name a user can write.
    pub(crate) const ACCUMULATOR: &str = "@result";
}
