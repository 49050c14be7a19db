//! The forms of a report besides its JSON: its [`view`], which every form renders, as text, a page, Markdown, JUnit
//! XML, annotations of a workflow, and a fragment for notebooks.
//!
//! A form is one file with one function, which writes a [`View`]. It reads no report: what is to be said stands in the
//! view. Text from files becomes neither markup, nor a command, nor an escape sequence.

mod github;
mod html;
mod junit;
mod map;
mod markdown;
mod notebook;
mod schedule;
mod stored;
mod text;
pub mod view;

pub use github::github;
pub use html::{html, page};
pub use junit::junit;
pub use map::{Mapping, MismatchMap};
pub use markdown::markdown;
pub use notebook::notebook;
pub use schedule::InWords;
pub use stored::{Store, Stored};
pub use text::{Layout, wrapped};
pub use view::{PageOf, Pictured, View, capital, grouped, in_brackets, of};
