//! Prints expressions the way cel-go does: reads JSON strings, one per line, and answers each with a JSON string, or
//! with `null` if it is no expression.

use std::io::BufRead as _;

use kubewright_cel::{ParseOptions, parse, print};
use serde_json::Value;

fn main() {
    let options = ParseOptions {
        keep_macro_calls: true,
        ..ParseOptions::ALL
    };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let text = serde_json::from_str::<String>(&line).unwrap_or_default();
        let printed = parse(&text, options).ok().and_then(|ast| print(&ast).ok());
        println!("{}", printed.map_or(Value::Null, Value::from));
    }
}
