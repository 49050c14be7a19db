//! Limits of a rule's constants: those of GPUs, and of memory and time.

use super::rule::{Attention, Polynomial, Positions, Rule, Square, Sum, Threads, TileRule};

/// More threads than a block has.
const MOST_THREADS: usize = 1024;
/// More neighbours share no exponent.
const MOST_SHARED: usize = 1024;

/// Refuses rules that cannot be computed.
///
/// # Errors
/// A sentence naming the constant.
pub fn validate(rule: &Rule) -> Result<(), String> {
    match rule {
        Rule::RmsNorm(norm) => {
            let reduced = matches!(norm.sum.threads, Threads::Reduce { .. });
            if reduced && norm.square != Square::Rounded {
                return Err(
                    "the squares of a reduction must be rounded, because another kernel computes them".into(),
                );
            }
            sum(&norm.sum)
        }
        Rule::LayerNorm(norm) => {
            threads("threads", norm.threads)?;
            vector(norm.vector)?;
            if norm.threads.is_multiple_of(32) && (norm.threads / 32).is_power_of_two() {
                Ok(())
            } else {
                Err("threads must be a power of two of warps of 32".into())
            }
        }
        Rule::Softmax(softmax) => {
            threads("most_threads", softmax.most_threads)?;
            if !softmax.most_threads.is_multiple_of(32) {
                return Err("most_threads must be a multiple of 32".into());
            }
            if !softmax.vector_bytes.is_power_of_two() || !(4..=64).contains(&softmax.vector_bytes)
            {
                return Err("vector_bytes must be a power of two from 4 to 64".into());
            }
            match (softmax.longest_of_warp, softmax.registers) {
                (0..=4096, 0..=256) => Ok(()),
                _ => Err("longest_of_warp must be at most 4096, registers at most 256".into()),
            }
        }
        Rule::Attention(rule) => attention(rule),
        Rule::QuantizeBfp(rule) => match (rule.shared, rule.magnitude_bits) {
            (1..=MOST_SHARED, 1..=7) => Ok(()),
            _ => Err(format!(
                "shared must be 1 to {MOST_SHARED} elements, magnitude_bits 1 to 7"
            )),
        },
        Rule::MulMatVecQ(rule) => {
            let tokens = rule.warps.iter().map(|of| of.tokens);
            let ascending = tokens.is_sorted_by(|one, next| one < next);
            let sane = rule
                .warps
                .iter()
                .all(|of| (1..=32).contains(&of.warps) && (1..=1 << 16).contains(&of.tokens));
            if ascending && sane && !rule.warps.is_empty() {
                Ok(())
            } else {
                Err("warps must be 1 to 32, by ascending numbers of tokens".into())
            }
        }
        _ => Ok(()),
    }
}

fn threads(name: &str, n: usize) -> Result<(), String> {
    match n {
        1..=MOST_THREADS => Ok(()),
        _ => Err(format!("{name} is {n}; it must be 1 to {MOST_THREADS}")),
    }
}

fn vector(n: usize) -> Result<(), String> {
    match n {
        1..=16 => Ok(()),
        _ => Err(format!("vector is {n}; it must be 1 to 16 elements")),
    }
}

fn sum(sum: &Sum) -> Result<(), String> {
    let few = match &sum.threads {
        Threads::Reduce {
            threads: n,
            width,
            shared,
            most,
            ..
        } => {
            threads("threads", *n)?;
            if !(1..=1 << 16).contains(shared) || !(2..=1 << 16).contains(most) {
                return Err("shared must be 1 to 65536, most 2 to 65536".into());
            }
            let fits = n.is_power_of_two() && width.is_power_of_two() && width <= n;
            return if fits {
                Ok(())
            } else {
                Err("threads and width must be powers of two, and width the smaller one".into())
            };
        }
        Threads::Fixed {
            threads: n,
            vector: v,
        } => {
            threads("threads", *n)?;
            return vector(*v);
        }
        Threads::Single { most, few } => {
            threads("most", *most)?;
            few
        }
        Threads::Wide {
            vector: size,
            most,
            few,
        }
        | Threads::Vectors {
            bytes: size,
            most,
            few,
        } => {
            vector(*size)?;
            threads("most", *most)?;
            few
        }
        Threads::WholeWarps { bytes, most } => {
            vector(*bytes)?;
            return threads("most", *most);
        }
    };
    few.as_ref()
        .map_or(Ok(()), |few| threads("few.most", few.most))
}

/// Whether attention can be computed in blocks of `m` rows of Q and `n` keys.
pub fn is_tile([m, n]: [usize; 2]) -> bool {
    (1..=512).contains(&m) && (16..=512).contains(&n) && n.is_multiple_of(16)
}

/// More coefficients than a polynomial of 24 bits needs, and more scores than a block's row has.
const MOST_COEFFICIENTS: usize = 8;
const MOST_SCORES: usize = 512;

fn polynomial(polynomial: &Polynomial, tiles: &[TileRule]) -> Result<(), String> {
    let (fragment, coefficients) = (polynomial.fragment, &polynomial.coefficients);
    if !(8..=MOST_SCORES).contains(&fragment) || !fragment.is_multiple_of(8) {
        return Err(format!(
            "fragment must be a multiple of 8 up to {MOST_SCORES}"
        ));
    }
    let finite = coefficients.iter().all(|c| f32::from_bits(c.0).is_finite());
    if !(1..=MOST_COEFFICIENTS).contains(&coefficients.len()) || !finite {
        return Err(format!(
            "coefficients must be 1 to {MOST_COEFFICIENTS} numbers"
        ));
    }
    for tile in tiles {
        if !tile.tile[1].is_multiple_of(fragment) {
            let [m, n] = tile.tile;
            return Err(format!(
                "tile {m}x{n}: keys must be a multiple of the fragment, {fragment}"
            ));
        }
        let positions = tile.polynomial.as_ref();
        let fits = |p: &Positions| {
            (1..=MOST_SCORES).contains(&p.frequency) && p.first_fragment <= MOST_SCORES
        };
        if !positions.is_none_or(fits) {
            return Err(format!(
                "frequency must be 1 to {MOST_SCORES}, first_fragment up to that"
            ));
        }
    }
    Ok(())
}

fn attention(rule: &Attention) -> Result<(), String> {
    if let Some(used) = rule.thread.as_ref().and_then(|t| t.polynomial.as_ref()) {
        polynomial(used, &rule.tiles)?;
    } else if rule.tiles.iter().any(|tile| tile.polynomial.is_some()) {
        return Err("tiles have positions of a polynomial, but `thread` has none".into());
    }
    let mut before = 0;
    for tile in &rule.tiles {
        let [m, n] = tile.tile;
        if !is_tile(tile.tile) {
            return Err(format!(
                "tile {m}x{n}: rows must be 1 to 512, keys a multiple of 16 up to 512"
            ));
        }
        let dim = tile.head_dim;
        if dim < before || !dim.is_multiple_of(16) || !(16..=512).contains(&dim) {
            return Err(format!(
                "head_dim {dim}: it must be a multiple of 16 up to 512, in ascending order"
            ));
        }
        before = dim;
    }
    if rule.tiles.is_empty() {
        Err("there are no tiles".into())
    } else {
        Ok(())
    }
}
