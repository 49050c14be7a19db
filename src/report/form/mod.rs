//! The forms that a view takes. None of them reads a report.

mod github;
mod html;
mod junit;
mod markdown;
mod notebook;
mod text;

pub use html::page;
pub use text::{Layout, wrapped};
