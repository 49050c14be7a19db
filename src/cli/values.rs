//! What a value of an option may be: words, formats, and names that complete themselves in a shell.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::emu::Catalogue;
use crate::emu::schedule::presets;
use crate::io::parse_sha256;
use crate::io::tree::Hash;
use crate::num::Format;
use crate::tlog::posix_of;
use crate::words::Word;

/// One of the words of an enumeration.
pub fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    word_of(|_: &T| true)
}

/// The word of one of these values of an enumeration.
pub fn word_of<T: Word>(listed: fn(&T) -> bool) -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().filter(|(value, ..)| listed(value));
    let values = values.map(|(_, word, about)| PossibleValue::new(*word).help(about.trim()));
    PossibleValuesParser::new(values).map(|word| T::of_word(&word).expect("listed above"))
}

/// One of these values, by its name.
pub fn named<T: Copy + Send + Sync + 'static>(
    values: &[T],
    name: fn(T) -> String,
) -> impl TypedValueParser<Value = T> {
    let named: Vec<(String, T)> = values.iter().map(|&value| (name(value), value)).collect();
    let names: Vec<_> = named.iter().map(|(name, _)| name.clone()).collect();
    PossibleValuesParser::new(names).map(move |word| {
        let found = named.iter().find(|(name, _)| *name == word);
        found.expect("listed above").1
    })
}

/// Numbers and ranges such as `3,5-8`.
pub fn ranges<T: FromStr + PartialOrd>(text: &str) -> Option<Vec<RangeInclusive<T>>> {
    let range = |piece: &str| {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
        (range.start() <= range.end()).then_some(range)
    };
    text.split(',').map(range).collect()
}

/// A time as RFC 3339 writes it, in UTC.
pub fn time(text: &str) -> Result<u64, String> {
    posix_of(text).ok_or_else(|| "write it in UTC, like 2026-11-23T08:00:00Z".to_owned())
}

/// A SHA-256 in hexadecimal digits.
pub fn sha256(text: &str) -> Result<Hash, String> {
    let digits = parse_sha256(text)?;
    Ok(Hash::parse(&digits).expect("64 digits"))
}

/// A format given by name; synonyms are understood, the canonical names are listed.
#[derive(Clone)]
struct Formats(&'static [Format]);

impl TypedValueParser for Formats {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Format, clap::Error> {
        let word = value.to_string_lossy();
        let known = Format::from_name(&word).filter(|format| self.0.contains(format));
        if let (Some(format), true) = (known, value.to_str() == Some(word.trim())) {
            return Ok(format);
        }
        let names = self.0.iter().map(|format| format.name().to_owned());
        let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
        if let Some(argument) = argument {
            let argument = ContextValue::String(argument.to_string());
            error.insert(ContextKind::InvalidArg, argument);
        }
        error.insert(
            ContextKind::InvalidValue,
            ContextValue::String(word.clone().into_owned()),
        );
        error.insert(
            ContextKind::ValidValue,
            ContextValue::Strings(names.clone().collect()),
        );
        let family = Format::family(&word).iter();
        let family: Vec<_> = family
            .filter(|one| self.0.contains(one))
            .map(|f| f.name())
            .collect();
        if !family.is_empty() {
            let tip = format!("{word} is ambiguous: {}", family.join(" or "));
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        } else if let Some((_, near)) = names
            .map(|name| {
                (
                    strsim::damerau_levenshtein(&name, &word.to_ascii_lowercase()),
                    name,
                )
            })
            .filter(|(distance, _)| *distance == 1)
            .min()
        {
            error.insert(ContextKind::SuggestedValue, ContextValue::String(near));
        }
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.0.iter().map(|f| PossibleValue::new(f.name()));
        Some(Box::new(values))
    }
}

/// Names that complete themselves in a shell; what they mean is looked up later, where an error can say more.
#[derive(Clone)]
struct Names(fn() -> Vec<String>);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)().into_iter();
        // Shells complete single words.
        let names = names.filter(|name| !name.contains(' '));
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// Architectures, compute capabilities and GPUs.
pub fn arch_names() -> impl TypedValueParser<Value = String> {
    Names(|| {
        let mut names = vec!["auto".to_owned()];
        for arch in Catalogue::builtin().architectures() {
            names.push(arch.name.clone());
            names.extend(arch.also.iter().cloned());
            names.extend(
                arch.gpus
                    .iter()
                    .map(|gpu| gpu.to_lowercase().replace(' ', "")),
            );
        }
        let mut seen = HashSet::new();
        names.retain(|name| name.is_ascii() && seen.insert(name.clone()));
        names
    })
}

pub fn instruction_names() -> impl TypedValueParser<Value = String> {
    Names(|| {
        let all = Catalogue::builtin().architectures().iter();
        let names = all
            .flat_map(|arch| &arch.instructions)
            .map(|i| i.name.clone());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    })
}

/// Schedules of kernels.
pub fn schedule_names() -> impl TypedValueParser<Value = String> {
    Names(|| presets().iter().map(|preset| preset.name.clone()).collect())
}

pub fn operand_format() -> impl TypedValueParser<Value = Format> {
    Formats(&Format::OPERANDS)
}

pub fn accumulator_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new([
        PossibleValue::new("f32").aliases(["fp32", "float32"]),
        PossibleValue::new("f16").aliases(["fp16", "float16", "half"]),
        PossibleValue::new("bf16").aliases(["bfloat16"]),
        PossibleValue::new("f64").aliases(["fp64", "float64"]),
        PossibleValue::new("s32").aliases(["i32", "int32"]),
    ])
    .map(|name| Format::from_name(&name).expect("listed above"))
}

pub fn scale_format() -> impl TypedValueParser<Value = Format> {
    Formats(&[Format::Ue8m0, Format::Ue4m3])
}

pub fn any_format() -> impl TypedValueParser<Value = Format> {
    Formats(&Format::ALL)
}

pub fn result_format() -> impl TypedValueParser<Value = Format> {
    Formats(&[
        Format::Fp32,
        Format::Fp16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
        Format::Fp64,
        Format::Int32,
    ])
}

/// A format of numbers that an epilogue reads.
pub fn any_float() -> impl TypedValueParser<Value = Format> {
    Formats(&[
        Format::Fp32,
        Format::Fp16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
    ])
}
