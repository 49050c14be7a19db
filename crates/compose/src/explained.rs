//! How one element is computed, of a product or of an operation.

use std::io::{self, Write};

use serde::Serialize;

use crate::explain::{Explanation, write};
use crate::operation::OperationExplanation;

/// How one element is computed.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Explained {
    Product(Box<Explanation>),
    Operation(Box<OperationExplanation>),
}

impl Explained {
    /// Whether the captured result has these bits, if there is one.
    pub fn same(&self) -> Option<bool> {
        match self {
            Explained::Product(product) => product.given.as_ref().map(|given| given.same),
            Explained::Operation(operation) => operation.same,
        }
    }

    /// The text for people.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Explained::Product(product) => write(product, out),
            Explained::Operation(operation) => operation.text(out),
        }
    }

    /// The text without colours.
    pub fn plain_text(&self) -> String {
        let mut text = Vec::new();
        self.text(&mut text).expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}
