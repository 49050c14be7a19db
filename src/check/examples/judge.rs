//! The core as a program of its own: it judges one product by one rule with the exact engine, and prints the report, as JSON.
//! Its verdict and digests are those of `tcverify check`. It knows no other engine, no causes and no kernels of
//! libraries, so that whoever trusts the core alone can run nothing else.
//!
//! Words are fields of a request and their values (`docs/request.md`):
//!
//! ```text
//! judge arch=hopper dtype=bf16 a=a.npy b=b.npy d=d.npy
//! ```
//!
//! Exit codes: 0 identical, 1 different, 2 no verdict.

use std::error::Error;
use std::io::stdout;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tcverify_check::{Check, Resources};
use tcverify_report::{Verdict, write_json};

fn main() -> ExitCode {
    match verdict(std::env::args().skip(1)) {
        Ok(Verdict::Different) => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("judge: {error}");
            ExitCode::from(2)
        }
    }
}

fn verdict(words: impl Iterator<Item = String>) -> Result<Verdict, Box<dyn Error>> {
    let fields: Result<Map<String, Value>, String> = words.map(field).collect();
    let check: Check = serde_json::from_value(Value::Object(fields?))?;
    let report = check.prepare(&Resources::default())?.run(&())?;
    write_json(&report, &mut stdout())?;
    Ok(report.verdict)
}

/// A number, true or false as what it is, all else as text.
fn field(word: String) -> Result<(String, Value), String> {
    let (name, value) = word
        .split_once('=')
        .ok_or(format!("'{word}' is no FIELD=VALUE, such as arch=hopper"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}
