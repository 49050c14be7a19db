//! The forms of a report besides its text and its JSON: a page, Markdown, JUnit XML, annotations of a workflow, and
//! a fragment for notebooks.
//!
//! A form is one file with one function, which writes a [`View`](tcverify_report::View). It reads no report: what is
//! to be said stands in the view. Text from files becomes neither markup, nor a command, nor an escape sequence.

mod github;
mod html;
mod junit;
mod markdown;
mod notebook;

pub use github::github;
pub use html::{html, page};
pub use junit::junit;
pub use markdown::markdown;
pub use notebook::notebook;
