//! Macros: calls that are rewritten while parsing.
//! In error messages, the nodes that they add have the position of the macro's call.

use crate::ast::{Comprehension, Expr, ExprKind, Literal, op};
use crate::parser::Parser;

/// How many parts a block may name: each is one level of nesting.
const MAX_BLOCK: usize = 100;

/// What became of a call.
pub(crate) enum Expansion {
    Expanded(Expr),
    Failed { offset: usize, message: String },
    NotAMacro(Option<Expr>, Vec<Expr>),
}

type Expanded = Result<Expr, (u32, String)>;

/// Rewrites a call that is a macro; returns the parts of one that is not.
pub(crate) fn expand(
    parser: &mut Parser<'_>,
    id: u32,
    function: &str,
    target: Option<Expr>,
    args: Vec<Expr>,
) -> Expansion {
    let options = parser.options;
    let mut build = Builder {
        offset: parser.offset_of(id),
        parser,
    };
    let expanded = match (target, function, args.len()) {
        (None, "has", 1) => build.has(args),
        (Some(target), "all" | "exists" | "exists_one", 2) => build.quantifier(function, target, args, false),
        (Some(target), "all" | "exists" | "exists_one" | "existsOne", 3) if options.two_variables => {
            build.quantifier(function, target, args, true)
        }
        (Some(target), "map", 2 | 3) => build.map(target, args),
        (Some(target), "filter", 2) => build.filter(target, args),
        (Some(target), "transformList", 3 | 4) if options.two_variables => build.transform_list(target, args),
        (Some(target), "transformMap", 3 | 4) if options.two_variables => build.transform_map(target, args, false),
        (Some(target), "transformMapEntry", 3 | 4) if options.two_variables => build.transform_map(target, args, true),
        (Some(target), "optMap" | "optFlatMap", 2) if options.optional_syntax => build.opt_map(function, target, args),
        (Some(target), "sortBy", 2) if options.sort_by => build.sort_by(target, args),
        (Some(target), "block", 2) if options.blocks && is_ident(&target, "cel") => build.block(args),
        (Some(target), "index", 1) if options.blocks && is_ident(&target, "cel") => build.index(&args),
        (Some(target), "iterVar" | "accuVar", 2) if options.blocks && is_ident(&target, "cel") => {
            build.numbered(function, &args)
        }
        (Some(target), "bind", 3) if options.bindings && is_ident(&target, "cel") => build.bind(args),
        (Some(target), "greatest" | "least", _) if options.math && is_ident(&target, "math") => {
            build.extremum(function, &target, args)
        }
        (target, _, _) => return Expansion::NotAMacro(target, args),
    };
    match expanded {
        Ok(expr) => Expansion::Expanded(expr),
        Err((at, message)) => Expansion::Failed {
            offset: parser.offset_of(at),
            message,
        },
    }
}

fn is_ident(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Ident(ident) if ident == name)
}

/// The arguments as an array; their number was checked by the caller.
fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into()
        .unwrap_or_else(|_| unreachable!("the number of arguments selects the macro"))
}

/// The filter, if there is one, and the transformation: the one or two arguments behind the variables, whose number was
/// checked by the caller.
fn filter_and_transform(args: Vec<Expr>, variables: usize) -> (Option<Expr>, Expr) {
    let mut rest = args.into_iter().skip(variables);
    match (rest.next(), rest.next()) {
        (filter, Some(transform)) => (filter, transform),
        (Some(transform), None) => (None, transform),
        (None, None) => unreachable!("the number of arguments selects the macro"),
    }
}

struct Builder<'p, 's> {
    offset: usize,
    parser: &'p mut Parser<'s>,
}

impl Builder<'_, '_> {
    fn node(&mut self, kind: ExprKind) -> Expr {
        let id = self.parser.id_at(self.offset);
        Expr { id, kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(ExprKind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(ExprKind::Ident(name.to_owned()))
    }

    fn accu(&mut self) -> Expr {
        self.ident(op::ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(ExprKind::List {
            elements,
            optionals: Vec::new(),
        })
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.node(ExprKind::Call {
            target: None,
            function: function.to_owned(),
            args,
        })
    }

    fn member_call(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        self.node(ExprKind::Call {
            target: Some(Box::new(target)),
            function: function.to_owned(),
            args,
        })
    }

    /// A copy with new ids, so that both occurrences are checked on their own.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let mut copy = expr.clone();
        copy.for_each_id(&mut |id| self.fresh(id));
        copy
    }

    fn fresh(&mut self, id: &mut u32) {
        let offset = self.parser.offset_of(*id);
        *id = self.parser.id_at(offset);
    }

    fn has(&mut self, args: Vec<Expr>) -> Expanded {
        let [arg] = take(args);
        match arg.kind {
            ExprKind::Select { operand, field, .. } => Ok(self.node(ExprKind::Select {
                operand,
                field,
                test_only: true,
            })),
            _ => Err((arg.id, "invalid argument to has() macro".to_owned())),
        }
    }

    fn variable(expr: &Expr, message: &str) -> Result<String, (u32, String)> {
        match &expr.kind {
            ExprKind::Ident(name) if name == op::ACCUMULATOR || name == "__result__" => {
                Err((expr.id, "iteration variable overwrites accumulator variable".to_owned()))
            }
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err((expr.id, message.to_owned())),
        }
    }

    fn two_variables(first: &Expr, second: &Expr) -> Result<(String, String), (u32, String)> {
        const MESSAGE: &str = "argument must be a simple name";
        for arg in [first, second] {
            if !matches!(arg.kind, ExprKind::Ident(_)) {
                return Err((arg.id, MESSAGE.to_owned()));
            }
        }
        if first.kind == second.kind
            && let ExprKind::Ident(name) = &second.kind
        {
            return Err((second.id, format!("duplicate variable name: {name}")));
        }
        Ok((Self::variable(first, MESSAGE)?, Self::variable(second, MESSAGE)?))
    }

    fn quantifier(&mut self, function: &str, range: Expr, args: Vec<Expr>, two: bool) -> Expanded {
        let (var, var2, predicate) = if two {
            let [first, second, predicate] = take(args);
            let (var, var2) = Self::two_variables(&first, &second)?;
            (var, Some(var2), predicate)
        } else {
            let [var, predicate] = take(args);
            (Self::variable(&var, "argument must be a simple name")?, None, predicate)
        };
        let (init, condition, step, result) = match function {
            "all" => {
                let init = self.literal(Literal::Bool(true));
                let accu = self.accu();
                let condition = self.call(op::NOT_STRICTLY_FALSE, vec![accu]);
                let accu = self.accu();
                let step = self.call(op::AND, vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false));
                let accu = self.accu();
                let not = self.call(op::NOT, vec![accu]);
                let condition = self.call(op::NOT_STRICTLY_FALSE, vec![not]);
                let accu = self.accu();
                let step = self.call(op::OR, vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            _ => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let (accu, one) = (self.accu(), self.literal(Literal::Int(1)));
                let add = self.call(op::ADD, vec![accu, one]);
                let accu = self.accu();
                let step = self.call(op::CONDITIONAL, vec![predicate, add, accu]);
                let (accu, one) = (self.accu(), self.literal(Literal::Int(1)));
                (init, condition, step, self.call(op::EQUALS, vec![accu, one]))
            }
        };
        Ok(self.fold(range, var, var2, init, condition, step, result))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a comprehension")]
    fn fold(
        &mut self,
        range: Expr,
        var: String,
        var2: Option<String>,
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> Expr {
        let accu = op::ACCUMULATOR.to_owned();
        let fold = Comprehension {
            range,
            var,
            var2,
            accu,
            init,
            condition,
            step,
            result,
        };
        self.node(ExprKind::Comprehension(Box::new(fold)))
    }

    /// A loop that collects a list: `accu + [element]` for every element that passes the filter.
    fn collect(&mut self, range: Expr, var: String, var2: Option<String>, filter: Option<Expr>, element: Expr) -> Expr {
        let init = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let accu = self.accu();
        let element = self.list(vec![element]);
        let step = self.call(op::ADD, vec![accu, element]);
        let step = self.filtered(filter, step);
        let result = self.accu();
        self.fold(range, var, var2, init, condition, step, result)
    }

    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        match filter {
            Some(filter) => {
                let accu = self.accu();
                self.call(op::CONDITIONAL, vec![filter, step, accu])
            }
            None => step,
        }
    }

    fn map(&mut self, range: Expr, args: Vec<Expr>) -> Expanded {
        let var = Self::variable(&args[0], "argument is not an identifier")?;
        let (filter, element) = filter_and_transform(args, 1);
        Ok(self.collect(range, var, None, filter, element))
    }

    fn filter(&mut self, range: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, predicate] = take(args);
        let var = Self::variable(&variable, "argument is not an identifier")?;
        Ok(self.collect(range, var, None, Some(predicate), variable))
    }

    fn transform_list(&mut self, range: Expr, args: Vec<Expr>) -> Expanded {
        let (var, var2) = Self::two_variables(&args[0], &args[1])?;
        let (filter, element) = filter_and_transform(args, 2);
        Ok(self.collect(range, var, Some(var2), filter, element))
    }

    fn transform_map(&mut self, range: Expr, args: Vec<Expr>, entry: bool) -> Expanded {
        let (var, var2) = Self::two_variables(&args[0], &args[1])?;
        let (filter, value) = filter_and_transform(args, 2);
        let mut insert = vec![self.accu()];
        if !entry {
            insert.push(self.ident(&var));
        }
        insert.push(value);
        let step = self.call("cel.@mapInsert", insert);
        let step = self.filtered(filter, step);
        let init = self.node(ExprKind::Map(Vec::new()));
        let condition = self.literal(Literal::Bool(true));
        let result = self.accu();
        Ok(self.fold(range, var, Some(var2), init, condition, step, result))
    }

    /// `result` with a name for `init`: a loop that never runs, whose accumulator is the name.
    fn let_in(&mut self, name: String, init: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&name);
        let fold = Comprehension {
            range,
            var: "#unused".to_owned(),
            var2: None,
            accu: name,
            init,
            condition,
            step,
            result,
        };
        self.node(ExprKind::Comprehension(Box::new(fold)))
    }

    fn bind(&mut self, args: Vec<Expr>) -> Expanded {
        let [variable, init, result] = take(args);
        let ExprKind::Ident(name) = variable.kind else {
            return Err((
                variable.id,
                "cel.bind() variable names must be simple identifiers".to_owned(),
            ));
        };
        Ok(self.let_in(name, init, result))
    }

    /// A block names its parts `@index0`, `@index1` and so on; each may use those before it.
    fn block(&mut self, args: Vec<Expr>) -> Expanded {
        let [parts, result] = take(args);
        let ExprKind::List { elements, optionals } = parts.kind else {
            return Err((parts.id, "cel.block requires a list of expressions".to_owned()));
        };
        if !optionals.is_empty() || elements.len() > MAX_BLOCK {
            let message = format!("cel.block takes up to {MAX_BLOCK} expressions that are not optional");
            return Err((parts.id, message));
        }
        let named = elements.into_iter().enumerate().rev();
        Ok(named.fold(result, |result, (number, part)| {
            self.let_in(format!("@index{number}"), part, result)
        }))
    }

    fn index(&mut self, args: &[Expr]) -> Expanded {
        let number = Self::number(args, 0, "cel.index")?;
        Ok(self.ident(&format!("@index{number}")))
    }

    /// The variables of loops: by how deep the loop is nested and which of that depth it is.
    fn numbered(&mut self, function: &str, args: &[Expr]) -> Expanded {
        let macro_name = format!("cel.{function}");
        let depth = Self::number(args, 0, &macro_name)?;
        let unique = Self::number(args, 1, &macro_name)?;
        let prefix = if function == "iterVar" { "@it" } else { "@ac" };
        Ok(self.ident(&format!("{prefix}:{depth}:{unique}")))
    }

    fn number(args: &[Expr], at: usize, macro_name: &str) -> Result<i64, (u32, String)> {
        match args.get(at).map(|arg| (arg.id, &arg.kind)) {
            Some((_, ExprKind::Literal(Literal::Int(number)))) if *number >= 0 => Ok(*number),
            other => {
                let message = format!("{macro_name} requires a single non-negative int constant arg");
                Err((other.map_or(0, |(id, _)| id), message))
            }
        }
    }

    fn opt_map(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, body] = take(args);
        let ExprKind::Ident(name) = variable.kind else {
            return Err((
                variable.id,
                format!("{function}() variable name must be a simple identifier"),
            ));
        };
        if self.parser.is_full() {
            let message = "expression is too large once its macros are expanded";
            return Err((target.id, message.to_owned()));
        }
        let again = self.copy(&target);
        let has_value = self.member_call("hasValue", target, Vec::new());
        let value = self.member_call("value", again, Vec::new());
        let bound = self.let_in(name, value, body);
        let then = if function == "optMap" {
            self.call("optional.of", vec![bound])
        } else {
            bound
        };
        let none = self.call("optional.none", Vec::new());
        Ok(self.call(op::CONDITIONAL, vec![has_value, then, none]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expanded {
        const INPUT: &str = "@__sortBy_input__";
        if matches!(
            target.kind,
            ExprKind::Literal(_) | ExprKind::Map(_) | ExprKind::Struct { .. }
        ) {
            let message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((target.id, message.to_owned()));
        }
        let range = self.ident(INPUT);
        let keys = self.map(range, args)?;
        let input = self.ident(INPUT);
        let sorted = self.member_call("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.let_in(INPUT.to_owned(), target, sorted))
    }

    fn extremum(&mut self, function: &str, target: &Expr, args: Vec<Expr>) -> Expanded {
        let (name, internal) = if function == "greatest" {
            ("math.greatest()", "math.@max")
        } else {
            ("math.least()", "math.@min")
        };
        if args.is_empty() {
            return Err((target.id, format!("{name} requires at least one argument")));
        }
        for arg in &args {
            let fits = match &arg.kind {
                ExprKind::Literal(literal) => {
                    matches!(literal, Literal::Int(_) | Literal::Uint(_) | Literal::Double(_))
                }
                ExprKind::List { .. } => args.len() == 1,
                ExprKind::Map(_) | ExprKind::Struct { .. } => false,
                _ => true,
            };
            if !fits {
                let message = if args.len() == 1 {
                    format!("{name} invalid single argument value")
                } else {
                    format!("{name} simple literal arguments must be numeric")
                };
                return Err((arg.id, message));
            }
        }
        if args.len() <= 2 {
            return Ok(self.call(internal, args));
        }
        let list = self.list(args);
        Ok(self.call(internal, vec![list]))
    }
}
