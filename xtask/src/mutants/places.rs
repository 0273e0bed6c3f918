//! The places of a source file where a mutant can be, and the text with mutants in it. Knows the
//! language; compiles and runs nothing.
//!
//! Text is only put in, and no line end: so a place within another can be changed too, and lines keep
//! their numbers.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Lit, Stmt};

/// A change of one expression or statement.
#[derive(Clone)]
pub(super) struct Place {
    /// The first line and the last.
    pub(super) lines: (usize, usize),
    start: usize,
    end: usize,
    /// What is there, and what the mutant makes of it.
    pub(super) what: String,
    change: Change,
}

#[derive(Clone)]
enum Change {
    /// Another expression.
    Instead(String),
    /// A condition is the opposite.
    Negated,
    /// A statement is not executed.
    Deleted,
}

/// All places of a file. Left out are tests, constants, what macros are given, and text for people.
pub(super) fn find(source: &str) -> syn::Result<Vec<Place>> {
    let mut finder = Finder { source, found: Vec::new() };
    finder.visit_file(&syn::parse_file(source)?);
    Ok(finder.found)
}

/// The source with mutants at some of its places, by number.
pub(super) fn with_mutants(source: &str, chosen: &[(u32, &Place)]) -> String {
    // At the same byte: ends before beginnings, and the outer of two places begins first and ends last.
    let mut pieces: Vec<(usize, bool, isize, String)> = Vec::new();
    for &(number, place) in chosen {
        let is_mutant = format!("crate::mutant({number})");
        let (before, after) = match &place.change {
            Change::Instead(other) => (format!("(if {is_mutant} {{ {other} }} else {{ "), " })"),
            Change::Negated => (format!("({is_mutant} != ("), "))"),
            Change::Deleted => (format!("if !{is_mutant} {{ "), " }"),
        };
        let len = (place.end - place.start) as isize;
        pieces.push((place.start, true, -len, before));
        pieces.push((place.end, false, len, after.into()));
    }
    pieces.sort_by_key(|&(at, begins, order, _)| (at, begins, order));
    let (mut text, mut done) = (String::new(), 0);
    for (at, _, _, piece) in pieces {
        text += &source[done..at];
        text += &piece;
        done = at;
    }
    text + &source[done..]
}

struct Finder<'a> {
    source: &'a str,
    found: Vec<Place>,
}

impl Finder<'_> {
    fn add(&mut self, span: Span, into: &str, change: Change) {
        let range = span.byte_range();
        let lines = (span.start().line, span.end().line);
        let words: Vec<&str> = self.source[range.clone()].split_whitespace().collect();
        let what = format!("{} → {into}", words.join(" "));
        self.found.push(Place { lines, start: range.start, end: range.end, what, change });
    }
}

/// What an operator becomes.
fn other_operator(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Add(_) | BinOp::Mul(_) => "-",
        BinOp::Sub(_) | BinOp::Div(_) => "+",
        BinOp::Rem(_) => "/",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) | BinOp::BitXor(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        _ => return None,
    })
}

/// Code for tests, or for measurements only.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("test") || text.contains("lab")
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) if item.sig.constness.is_none() => &item.attrs,
            syn::Item::Impl(item) => {
                let of = item.trait_.as_ref().and_then(|(of, ..)| of.segments.last());
                if of.is_some_and(|of| of.ident == "Display" || of.ident == "Debug") {
                    return;
                }
                &item.attrs
            }
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            _ => return,
        };
        if !is_left_out(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if let syn::ImplItem::Fn(function) = item
            && function.sig.constness.is_none()
            && !is_left_out(&function.attrs)
        {
            self.visit_block(&function.block);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            if let Stmt::Expr(Expr::MethodCall(_) | Expr::Call(_), Some(_)) = statement {
                self.add(statement.span(), "nothing", Change::Deleted);
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        // Not the pattern and the type.
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(binary) => {
                if let Some(other) = other_operator(&binary.op) {
                    let [left, right] =
                        [&binary.left, &binary.right].map(ToTokens::to_token_stream);
                    self.add(
                        expr.span(),
                        other,
                        Change::Instead(format!("({left}) {other} ({right})")),
                    );
                }
                let assigned = match binary.op {
                    BinOp::AddAssign(_) => "-=",
                    BinOp::SubAssign(_) => "+=",
                    _ => "",
                };
                if !assigned.is_empty() {
                    let [left, right] =
                        [&binary.left, &binary.right].map(ToTokens::to_token_stream);
                    self.add(
                        expr.span(),
                        assigned,
                        Change::Instead(format!("{left} {assigned} {right}")),
                    );
                }
            }
            Expr::If(branch) if !matches!(*branch.cond, Expr::Let(_) | Expr::Binary(_)) => {
                self.add(branch.cond.span(), "not", Change::Negated);
            }
            Expr::Lit(literal) => {
                if let Lit::Int(number) = &literal.lit
                    && let Ok(value) = number.base10_parse::<u64>()
                {
                    let more = format!("{}{}", value + 1, number.suffix());
                    self.add(expr.span(), &more, Change::Instead(more.clone()));
                }
            }
            // Numbers in types and in lengths must be constant; an item in a block is left out.
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::Const(_) => return,
            Expr::Cast(cast) => return self.visit_expr(&cast.expr),
            Expr::Path(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_nest_and_keep_their_lines() {
        let source = "fn f(a: u32) -> bool {\n    go(a);\n    // Why.\n    a + 1\n        < 7\n}\nconst C: u32 = 1 + 1;\n";
        let places = find(source).expect("valid");
        let found: Vec<_> = places.iter().map(|place| (place.lines.0, &*place.what)).collect();
        let expected = [
            (2, "go(a); → nothing"),
            (4, "a + 1 < 7 → <="),
            (4, "a + 1 → -"),
            (4, "1 → 2"),
            (5, "7 → 8"),
        ];
        assert_eq!(found, expected);
        let chosen: Vec<(u32, &Place)> = (0..).zip(&places).take(3).collect();
        let text = with_mutants(source, &chosen);
        assert_eq!(
            text.lines().take(5).collect::<Vec<_>>(),
            [
                "fn f(a: u32) -> bool {",
                "    if !crate::mutant(0) { go(a); }",
                "    // Why.",
                "    (if crate::mutant(1) { (a + 1) <= (7) } else { (if crate::mutant(2) { (a) - (1) } else { a + 1 })",
                "        < 7 })",
            ]
        );
        syn::parse_file(&text).expect("still valid");
    }

    #[test]
    fn methods_have_places_whatever_their_comments_say() {
        let source = "impl A {\n/// As a test.\nfn f(&self) { self.g(); } }\n";
        let places = find(source).expect("valid");
        assert_eq!(
            places.iter().map(|place| &*place.what).collect::<Vec<_>>(),
            ["self.g(); → nothing"]
        );
    }

    #[test]
    fn tests_constants_and_text_are_left_out() {
        let source = "#[cfg(test)]\nmod tests { fn f() { g(1); } }\nconst fn h(a: u32) -> u32 { a + 1 }\n\
             impl fmt::Display for A { fn fmt(&self) { g(1); } }\n\
             fn k(a: [u8; 3]) { let [b, 2] = a else { debug_assert!(1 < 2) }; }\n";
        assert!(find(source).expect("valid").is_empty());
    }
}
