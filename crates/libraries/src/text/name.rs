//! A kernel's name, as a profiler shows it.

use super::{marlin, nvjet, tensile, tensor_op, xmma};
use crate::family::Family;
use crate::io::printable;
use crate::{How, KernelError, KernelReading, Scheme, Sourced, TextKind};

/// Reads a name that is not mangled; None if no word of it is known.
pub fn read(text: &str) -> Result<Option<KernelReading>, KernelError> {
    let mut reading = KernelReading::new(TextKind::KernelName);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // A demangled name repeats its class: the first one counts.
    for word in text.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
        if tensile::is_name(word) {
            return tensile::read_name(word).map(Some);
        }
        if one_word(&mut reading, text, word)? {
            return reading.finished().map(Some);
        }
    }
    Ok(None)
}

fn one_word(reading: &mut KernelReading, text: &str, word: &str) -> Result<bool, KernelError> {
    if word.starts_with("nvjet") {
        nvjet::read(reading, word)?;
    } else if xmma::is_one(word) {
        xmma::read(reading, word)?;
    } else if tensor_op::is_one(word) {
        tensor_op::read(reading, word)?;
    } else if marlin::is_one(word) {
        return marlin::read(reading, text, word).map(|()| true);
    } else if word.starts_with("splitKreduce") {
        reduction(reading, text, word);
    } else {
        let Some(family) = Family::of_name(word) else {
            return Ok(false);
        };
        reading.set_family(family, How::Stated, word)?;
        reading.used(word, "", format!("family of kernels: {}", family.title));
        if family.never_split {
            reading.settings.split_k =
                Some(Sourced::new(1, How::Derived, "none has been seen split"));
        }
    }
    if text.trim() != word {
        reading.notes.push(format!(
            "only the name {} was read from the text",
            printable(word)
        ));
    }
    Ok(true)
}

/// The name of the kernel that adds slices tells their format, not how they were computed.
fn reduction(reading: &mut KernelReading, text: &str, word: &str) {
    let arguments = text.split_once('<').map_or("", |(_, rest)| rest);
    // After the sizes and the index type: the type of the sums.
    let kept = arguments
        .split([',', '>'])
        .map(str::trim)
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .find(|name| !["int", "long", "bool", "true", "false"].contains(name));
    let scheme = match kept {
        Some("float") => Some(Scheme::ComputeType),
        Some("__half" | "__nv_bfloat16" | "half") => Some(Scheme::OutputType),
        _ => None,
    };
    match kept.zip(scheme) {
        Some((kept, scheme)) => {
            let from = format!("{word}<..., {kept}>");
            reading.used(word, kept, format!("adds slices; {scheme}"));
            reading.settings.scheme = Some(Sourced::stated(scheme, printable(&from)));
        }
        None => reading.used(
            word,
            "",
            "adds slices; the text does not state their format",
        ),
    }
    reading.notes.push(
        "this kernel only adds slices; the name of the kernel before it tells how they were summed"
            .into(),
    );
}
