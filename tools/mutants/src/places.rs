//! Where in a file mutants can be: by the syntax tree, in bytes.

use proc_macro2::Span;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// An expression of which a mutant changes a token or a field.
#[derive(Clone, Debug)]
pub struct Around {
    pub expression: Range<usize>,
    /// In a chain with `let`: it cannot be put in parentheses.
    pub chained: bool,
}

#[derive(Clone, Debug)]
pub struct Arm {
    pub pattern_end: usize,
    pub guard: Option<Range<usize>>,
    /// Whether another takes all that is left, so that the match may go without this one.
    pub spare: bool,
}

/// All of a file.
#[derive(Default)]
pub struct Places {
    /// By the range of an operator.
    pub operators: HashMap<(usize, usize), Around>,
    /// By the start of a field of a struct expression.
    pub fields: HashMap<usize, Around>,
    /// By the start of an arm of a match.
    pub arms: HashMap<usize, Arm>,
    /// Where the body of a function begins, by the start of its first statement.
    pub bodies: HashMap<usize, usize>,
    /// Starts of operators and fields in what is computed as the crate is built.
    pub constant: HashSet<usize>,
    /// Bodies of functions that may be used there.
    pub const_functions: Vec<Range<usize>>,
    depth: usize,
}

impl Places {
    pub fn of(text: &str) -> syn::Result<Places> {
        let mut places = Places::default();
        places.visit_file(&syn::parse_file(text)?);
        Ok(places)
    }

    /// Whether a byte is in a `const fn`.
    pub fn in_const_function(&self, at: usize) -> bool {
        self.const_functions.iter().any(|range| range.contains(&at))
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let braces = block.brace_token.span;
        if let Some(first) = block.stmts.first() {
            let open = braces.open().byte_range().end;
            self.bodies.insert(first.span().byte_range().start, open);
        }
        if signature.constness.is_some() {
            self.const_functions.push(braces.join().byte_range());
        }
    }

    fn operator(&mut self, token: Span, expression: Span, chained: bool) {
        let token = token.byte_range();
        if self.depth > 0 {
            self.constant.insert(token.start);
        }
        let around = Around {
            expression: expression.byte_range(),
            chained,
        };
        self.operators.insert((token.start, token.end), around);
    }

    fn constant(&mut self, inner: impl FnOnce(&mut Places)) {
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }
}

/// Whether `let` stands in a chain of `&&`.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'a> Visit<'a> for Places {
    fn visit_expr_binary(&mut self, node: &'a syn::ExprBinary) {
        let chained = has_let(&node.left) || has_let(&node.right);
        self.operator(node.op.span(), node.span(), chained);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'a syn::ExprUnary) {
        self.operator(node.op.span(), node.span(), false);
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'a syn::ExprStruct) {
        let around = Around {
            expression: node.span().byte_range(),
            chained: false,
        };
        for field in &node.fields {
            let start = field.span().byte_range().start;
            if self.depth > 0 {
                self.constant.insert(start);
            }
            self.fields.insert(start, around.clone());
        }
        visit::visit_expr_struct(self, node);
    }

    fn visit_expr_match(&mut self, node: &'a syn::ExprMatch) {
        let takes_all = |arm: &syn::Arm| match &arm.pat {
            _ if arm.guard.is_some() => false,
            syn::Pat::Wild(_) => true,
            // `None` looks the same as a name for all that is left, but for the letter.
            syn::Pat::Ident(name) => name.ident.to_string().starts_with(char::is_lowercase),
            _ => false,
        };
        let last = node.arms.iter().position(takes_all);
        for (at, node) in node.arms.iter().enumerate() {
            let arm = Arm {
                pattern_end: node.pat.span().byte_range().end,
                guard: node
                    .guard
                    .as_ref()
                    .map(|(_, guard)| guard.span().byte_range()),
                spare: last.is_some_and(|last| at < last),
            };
            self.arms.insert(node.span().byte_range().start, arm);
        }
        visit::visit_expr_match(self, node);
    }

    fn visit_item_fn(&mut self, node: &'a syn::ItemFn) {
        self.body(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'a syn::ImplItemFn) {
        self.body(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'a syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.body(&node.sig, block);
        }
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_item_const(&mut self, node: &'a syn::ItemConst) {
        self.constant(|places| visit::visit_item_const(places, node));
    }

    fn visit_impl_item_const(&mut self, node: &'a syn::ImplItemConst) {
        self.constant(|places| visit::visit_impl_item_const(places, node));
    }

    fn visit_item_static(&mut self, node: &'a syn::ItemStatic) {
        self.constant(|places| visit::visit_item_static(places, node));
    }

    fn visit_expr_const(&mut self, node: &'a syn::ExprConst) {
        self.constant(|places| visit::visit_expr_const(places, node));
    }

    fn visit_type_array(&mut self, node: &'a syn::TypeArray) {
        self.constant(|places| visit::visit_type_array(places, node));
    }

    fn visit_expr_repeat(&mut self, node: &'a syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        self.constant(|places| places.visit_expr(&node.len));
    }
}
