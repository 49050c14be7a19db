//! What the one renderer of commands writes, the command line reads back as the same check; and so do
//! documents.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::args::CheckArgs;
use crate::check::{Check, FieldAbout, RequestFields, Source, Verb, command_line, shell_line};
use crate::generate::{Class, Spec};
use crate::num::{F32, Factor, Format};
use crate::words::Word;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    check: CheckArgs,
}

/// Names that shells, options and containers would interpret.
fn path() -> impl Strategy<Value = PathBuf> {
    let part = select(vec![
        "a.npy",
        "x.npz#q",
        "w.safetensors#layer.0",
        "it's",
        "two words",
        "$HOME",
        "a=b",
        "ü",
        "#",
        "*",
        "\\",
        "..",
        "-n",
        "\"",
        "a\tb",
        "--arch",
    ]);
    (vec(part, 1..4), any::<bool>()).prop_map(|(parts, absolute)| {
        let path: PathBuf = parts.iter().collect();
        if absolute {
            PathBuf::from("/tmp").join(path)
        } else {
            PathBuf::from("in").join(path)
        }
    })
}

fn source() -> impl Strategy<Value = Source> {
    let spec = (
        any::<u64>(),
        select(Class::ALL).prop_map(|(class, _, _)| class),
        vec(1usize..9, 2..4),
    );
    prop_oneof![
        path().prop_map(Source::File),
        spec.prop_map(|(seed, class, shape)| Source::Generated(
            Spec::new(seed, class, shape).to_string()
        )),
    ]
}

fn factor() -> impl Strategy<Value = Factor> {
    prop_oneof![
        f32s().prop_map(Factor::from),
        f32s().prop_map(|of| Factor::shortest(of.0)),
    ]
}

fn f32s() -> impl Strategy<Value = F32> {
    prop_oneof![
        any::<u32>().prop_map(F32),
        select(vec![0, 1 << 31, 0x7f80_0000, 0xff80_0000, 1]).prop_map(F32),
    ]
}

fn span() -> impl Strategy<Value = String> {
    (0usize..50, of(0usize..50)).prop_map(|(start, end)| {
        let end = end.map_or(String::new(), |end| end.to_string());
        format!("{start}..{end}")
    })
}

fn one_of(words: &[&str]) -> BoxedStrategy<Value> {
    let words: Vec<Value> = words.iter().map(|&word| word.into()).collect();
    select(words).boxed()
}

fn json<T: serde::Serialize + std::fmt::Debug>(
    of: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Value> {
    let value = |value: T| serde_json::to_value(value).expect("paths of UTF-8");
    of.prop_map(value).boxed()
}

/// A value of a field, as documents have it.
fn value(field: &FieldAbout) -> BoxedStrategy<Value> {
    match (field.name, field.value.as_str()) {
        ("arch", _) => one_of(&["h100", "MI300X"]),
        ("instruction", _) => one_of(&["mma", "wgmma"]),
        ("dtype", _) => one_of(&["fp16", "bf16", "tf32", "e4m3", "e2m1", "fp64", "int8"]),
        ("dtype_b", _) => one_of(&["fp16", "e5m2"]),
        ("acc", _) => one_of(&["fp32", "fp16", "fp64", "int32"]),
        ("c_dtype" | "bias_dtype", _) => one_of(&["fp32", "bf16"]),
        ("scale_dtype", _) => one_of(&["ue8m0", "ue4m3"]),
        ("d_dtype", _) => one_of(&["fp32", "fp16", "bf16", "e4m3", "e5m2", "fp64", "int32"]),
        ("ttnn", _) => json("[A-Z(][ -~]{1,9}"),
        ("schedule", _) => one_of(&["plain", "cutlass-sm80", "no such"]),
        // Text that a shell or an option would interpret; whether it names a kernel is decided later.
        ("kernel", _) => one_of(&[
            "algo=66,stages=35",
            "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT",
            "[Trace] A=0X1 Adesc=[type=R_16BF rows=4 cols=6] 'x'",
            "-dash",
            "--arch",
            "{\"algo\": 66}",
            "",
        ]),
        ("d_digest", _) => json("[0-9a-f]{64}"),
        ("beacon", _) => json("[!-~]{1,9}"),
        ("region", _) => json((span(), span()).prop_map(|(rows, cols)| format!("{rows},{cols}"))),
        ("workspace" | "seed", _) => json(any::<u64>()),
        ("custom", _) => json(any::<u32>()),
        ("rotation" | "max_mismatches", _) => json(0u32..30),
        ("promote", _) => prop_oneof![Just("never".into()), json(1u32..999)].boxed(),
        (_, "array") => json(source()),
        (_, "file") => json(path()),
        (_, "boolean") => json(any::<bool>()),
        (_, "span") => json(span()),
        (_, "f32") => json(factor()),
        (_, "whole number") => json(1u32..99),
        (_, words) => one_of(&words.split('`').skip(1).step_by(2).collect::<Vec<_>>()),
    }
}

/// Any declared fields, less those that the others forbid.
fn check() -> impl Strategy<Value = Check> {
    let given = RequestFields::about().into_iter().map(|field| {
        let value = match field.name {
            "a" | "b" | "dtype" => value(&field).prop_map(Some).boxed(),
            _ => weighted(0.4, value(&field)).boxed(),
        };
        value.prop_map(move |value| Some((field.name.to_owned(), value?)))
    });
    given.collect::<Vec<_>>().prop_map(|given| {
        let mut given: Map<String, Value> = given.into_iter().flatten().collect();
        for [needed, other, value] in [["arch", "model", "h100"], ["d", "d_digest", "d.npy"]] {
            if !given.contains_key(other) {
                given.entry(needed).or_insert(value.into());
            }
        }
        loop {
            let fields = serde_json::from_value::<RequestFields>(given.clone().into());
            match Check::try_from(fields.expect("declared fields")) {
                Ok(check) => return check,
                Err(error) => {
                    let field = error.field().unwrap_or_default();
                    assert!(given.remove(field).is_some(), "{error}: {given:?}");
                }
            }
        }
    })
}

fn parsed(words: &[OsString]) -> Check {
    assert_eq!(words[..2], ["tcverify", "check"]);
    let line = Line::try_parse_from(&words[2..]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    line.check
        .check()
        .unwrap_or_else(|e| panic!("{words:?}: {e}"))
}

proptest! {
    #[test]
    fn a_command_is_its_check(check in check()) {
        let words = command_line(Verb::Check, &check);
        prop_assert_eq!(parsed(&words), check.clone());
        // And as a person pastes it.
        let typed = shlex::split(&shell_line(&words)).expect("a shell takes it");
        let typed: Vec<OsString> = typed.into_iter().map(Into::into).collect();
        prop_assert_eq!(typed, words);
    }

    /// What a command has no option for is left out.
    #[test]
    fn other_commands_take_their_part_of_a_check(check in check()) {
        for verb in [Verb::Check, Verb::Explain, Verb::Replay, Verb::Commit] {
            let words = command_line(verb, &check);
            let command = super::Cli::command();
            let command = command.find_subcommand(words[1].to_str().expect("a name")).expect("a command").clone();
            let error = command.no_binary_name(true).try_get_matches_from(&words[2..]).err();
            let unknown = error.filter(|error| error.kind() == ErrorKind::UnknownArgument);
            prop_assert!(unknown.is_none(), "{words:?}: {unknown:?}");
        }
    }

    #[test]
    fn a_document_is_its_check(check in check()) {
        let text = serde_json::to_string(&check).expect("paths of UTF-8");
        prop_assert_eq!(serde_json::from_str::<Check>(&text).expect("what was written"), check);
    }
}

/// Bytes that are not UTF-8 pass through a command, and through no document.
#[cfg(unix)]
#[test]
fn a_path_is_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(OsString::from_vec(b"a\xff.npy".to_vec()));
    let file = || Source::File(path.clone());
    let check = Check::new("h100", Format::Fp16, [file(), file(), file()]);
    assert_eq!(parsed(&command_line(Verb::Check, &check)), check);
    let error = serde_json::to_string(&check).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn a_path_is_no_option() {
    let files = ["-a.npy", "--nan", "-"].map(Source::from);
    let words = command_line(Verb::Check, &Check::new("h100", Format::Fp16, files));
    assert_eq!(words[words.len() - 3..], ["./-a.npy", "./--nan", "-"]);
}
