//! `marlin-vllm`, `marlin-original`, each with words such as `128x128x256` (k and columns of a tile, threads), `g128`
//! and `u4b8`; or a kernel's name with its constants: `Marlin<256, 1, 8, 8, 4, 8>`.

use crate::cublaslt::numbers;
use crate::family::marlin;
use crate::settings::{Generation, Marlin};
use crate::words::Word as _;
use crate::{How, KernelError, KernelReading, Sourced, Weights};

pub fn is_one(word: &str) -> bool {
    word.to_ascii_lowercase().starts_with("marlin")
}

/// Reads all of a text that has such a word.
pub fn read(reading: &mut KernelReading, text: &str, word: &str) -> Result<(), KernelError> {
    let family = &marlin::FAMILY;
    reading.set_family(family, How::Stated, word)?;
    reading.used(word, "", format!("family of kernels: {}", family.title));
    let mut known = Marlin::default();
    if let Some((_, constants)) = text.split_once("Marlin<") {
        of_constants(reading, &mut known, constants)?;
    } else {
        let after = text.find(word).map_or(0, |at| at + word.len());
        let separates = |c: char| c.is_whitespace() || ",;".contains(c);
        for word in text[after..]
            .trim_start_matches('-')
            .split(separates)
            .filter(|word| !word.is_empty())
        {
            if word == "atomic" {
                return Err(KernelError::Undetermined {
                    why:
                        "no order exists: with use_atomic_add, blocks add their sums as they finish"
                            .into(),
                });
            }
            of_word(reading, &mut known, word);
        }
    }
    reading.settings.marlin = Some(Sourced::stated(known, ""));
    Ok(())
}

fn of_word(reading: &mut KernelReading, known: &mut Marlin, word: &str) {
    let group = word.strip_prefix('g').and_then(|text| text.parse().ok());
    if let Some(generation) = Generation::of_word(word) {
        known.generation = Some(generation);
        reading.used(word, "", "whose Marlin it is");
    } else if let Some(weights) = Weights::of_word(word) {
        known.weights = Some(weights);
        reading.used(word, "", "what the codes of weights stand for");
    } else if let Some(tile) = numbers::<3>(word) {
        known.tile = Some(tile.map(|size| size as usize));
        reading.used(word, "", "k and columns of a tile, threads of a block");
    } else if let Some(group) = group.and_then(group_of) {
        known.group = Some(group);
        reading.used(word, "", "k that share a scale");
    } else {
        reading.not_known(word, "");
    }
}

/// `-1` is one scale a column.
fn group_of(k: i64) -> Option<Option<usize>> {
    match k {
        -1 => Some(None),
        k => usize::try_from(k).ok().filter(|k| *k > 0).map(Some),
    }
}

/// Constants of the template: threads, blocks of 16 of M, N and K; stages and blocks of a group at the end. vLLM's begins
/// with four types, and has two switches.
fn of_constants(
    reading: &mut KernelReading,
    known: &mut Marlin,
    text: &str,
) -> Result<(), KernelError> {
    let list = text.split('>').next().unwrap_or_default();
    let all = list.split(',').map(|constant| {
        let bare = constant.rsplit(')').next().unwrap_or_default().trim();
        match bare.trim_end_matches(['l', 'L', 'u', 'U']) {
            "true" => Some(1),
            "false" => Some(0),
            number => number.parse::<i64>().ok(),
        }
    });
    let all: Option<Vec<i64>> = all.collect();
    let (generation, sizes, group) = match all.as_deref() {
        Some(&[threads, _, n, k, _, group]) => (Generation::Original, [k, n, threads], group),
        Some(&[_, _, _, _, threads, _, n, k, _, _, group, _]) => {
            (Generation::Vllm, [k, n, threads], group)
        }
        _ => {
            return Err(KernelError::syntax(
                "constants of Marlin",
                "expected six numbers (the original) or twelve (vLLM)",
            ));
        }
    };
    let [k, n, threads] = sizes.map(|size| usize::try_from(size).ok().filter(|size| *size <= 1024));
    let (Some(k), Some(n), Some(threads)) = (k, n, threads) else {
        let why = "a tile has 0 to 1024 blocks of 16";
        return Err(KernelError::syntax("constants of Marlin", why));
    };
    known.generation = Some(generation);
    known.tile = Some([16 * k, 16 * n, threads]);
    known.group = group_of(if group > 0 {
        group.saturating_mul(16)
    } else {
        group
    });
    let meaning = format!(
        "{}: tile of {} k and {} columns, {threads} threads",
        generation.word(),
        16 * k,
        16 * n
    );
    reading.used("Marlin<>", list.trim(), meaning);
    Ok(())
}
