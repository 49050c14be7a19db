//! What attention needs of its arrays: axes, tile, scale.

use std::f64::consts::LOG2_E;

use super::{Axes, Kernel, Output};
use crate::arrays::{Rows, needed, only, same_format};
use crate::emu::is_called;
use crate::num::Format;
use crate::row_kernel::{ExecContext, Inputs, OpError, Parameters, Planned};
use crate::rule::{Attention, Layout, Polynomial, Positions, TileRule};
use crate::tensor::shape_text;
use crate::validate::is_tile;

/// The default factor of scores: 1/sqrt(d), as Python computes it.
fn usual_scale(dim: usize) -> u32 {
    ((1.0 / (dim as f64).sqrt()) as f32).to_bits()
}

fn axes([q, k, v]: [&Rows; 3], layout: &Layout, own_values: bool) -> Result<Axes, OpError> {
    let four = |name: &'static str, rows: &Rows| match *rows.shape() {
        [b, x, y, d] => Ok([b, x, y, d]),
        _ => {
            let order = match layout {
                Layout::Bhsd => "batch, heads, tokens and the head's elements",
                Layout::Bshd => "batch, tokens, heads and the head's elements",
            };
            let shape = shape_text(rows.shape());
            Err(OpError::new(
                name,
                format!("it is {shape}; expected four axes: {order} (`layout`)"),
            ))
        }
    };
    let (q4, k4, v4) = (four("q", q)?, four("k", k)?, four("v", v)?);
    if k4[..3] != v4[..3] || (k4 != v4 && !own_values) {
        let (k, v) = (shape_text(k.shape()), shape_text(v.shape()));
        return Err(OpError::new("v", format!("it is {v}, but k is {k}")));
    }
    let heads_first = *layout == Layout::Bhsd;
    let order = |[_, x, y, _]: [usize; 4]| if heads_first { (x, y) } else { (y, x) };
    let ((heads, queries), (kv_heads, keys)) = (order(q4), order(k4));
    if q4[0] != k4[0] || q4[3] != k4[3] {
        let (q, k) = (shape_text(q.shape()), shape_text(k.shape()));
        return Err(OpError::new("k", format!("it is {k}, but q is {q}")));
    }
    if !heads.is_multiple_of(kv_heads) {
        let reason = format!("{heads} heads of q cannot share {kv_heads} heads of k evenly");
        return Err(OpError::new("k", reason));
    }
    Ok(Axes {
        heads_first,
        heads,
        kv_heads,
        queries,
        keys,
        dim: q4[3],
        value_dim: v4[3],
    })
}

/// What a kernel is chosen by.
struct Shape<'a> {
    at: &'a Axes,
    causal: bool,
    gpu: &'a str,
}

impl Shape<'_> {
    /// Whether a row of the table is for it.
    fn fits(&self, rule: &TileRule, small: bool) -> bool {
        let holds = |condition: Option<bool>, is: bool| condition.is_none_or(|wanted| wanted == is);
        let shared = self.at.heads / self.at.kv_heads;
        let wide = self.at.value_dim.next_multiple_of(16);
        rule.head_dim >= self.at.dim
            && holds(rule.causal, self.causal)
            && holds(rule.small, small)
            && holds(rule.packed, shared > 1)
            && rule.value_dim.is_none_or(|dim| dim == wide)
            && rule.shared_by.is_none_or(|n| n.is_multiple_of(shared))
    }

    fn has_rows(&self, rule: &TileRule) -> bool {
        let rows = self.at.queries * (self.at.heads / self.at.kv_heads);
        rule.more_rows_than.is_none_or(|most| rows > most)
    }
}

impl Attention {
    /// The kernel for heads of these elements on this GPU; with a tile, that one's, if there is one.
    fn kernel(&self, shape: &Shape, tile: Option<[usize; 2]>) -> Result<TileRule, OpError> {
        let found = |small: bool| {
            let mut rules = self.tiles.iter();
            rules.find(|rule| shape.fits(rule, small) && shape.has_rows(rule))
        };
        let none = || {
            let (most, dim) = (
                self.tiles.last().map_or(0, |tile| tile.head_dim),
                shape.at.dim,
            );
            OpError::new("q", format!("heads of {dim}: tiles are known up to {most}"))
        };
        // Whatever the tile, the width is the head dimension's.
        if let Some(tile) = tile {
            let usual = found(false).ok_or_else(none)?;
            let named = |rule: &&TileRule| {
                rule.head_dim == usual.head_dim && rule.tile == tile && shape.fits(rule, false)
            };
            let rule = self.tiles.iter().find(named).unwrap_or(usual);
            return Ok(TileRule {
                tile,
                ..rule.clone()
            });
        }
        let rule = found(is_called(shape.gpu, &self.small)).ok_or_else(none)?;
        let same = |other: &TileRule| (other.tile, other.head_dim) == (rule.tile, rule.head_dim);
        if is_called(shape.gpu, &self.either) && !found(true).is_some_and(same) {
            let reason = "GPUs of this `arch` use different tiles; name the GPU, such as a100, or give `tile`";
            return Err(OpError::new("arch", reason));
        }
        Ok(rule.clone())
    }

    /// The factor of scores times log2(e).
    fn scale(&self, factor: f32) -> u32 {
        let scale = if self.scale_in_f32 {
            factor * LOG2_E as f32
        } else {
            (f64::from(factor) * LOG2_E) as f32
        };
        scale.to_bits()
    }
}

/// Which of a block's scores have their power by the polynomial.
fn by_polynomial(
    polynomial: Option<&Polynomial>,
    positions: Option<&Positions>,
    keys: usize,
) -> Vec<bool> {
    let (Some(polynomial), Some(positions)) = (polynomial, positions) else {
        return vec![false; keys];
    };
    let rest = positions.frequency.saturating_sub(polynomial.of_frequency);
    let last = keys / polynomial.fragment - 1;
    let at = |column: usize| {
        let (fragment, inside) = (column / polynomial.fragment, column % polynomial.fragment);
        // Neighbours are computed together: the even one decides.
        (inside & !1) % positions.frequency >= rest
            && fragment >= positions.first_fragment
            && (fragment < last || polynomial.last_fragment)
    };
    (0..keys).map(at).collect()
}

/// Where powers are polynomials, for people.
fn about_powers(
    polynomial: Option<&Polynomial>,
    positions: Option<&Positions>,
    keys: usize,
) -> String {
    let (Some(polynomial), Some(positions)) = (polynomial, positions) else {
        return ", all powers by MUFU.EX2".to_owned();
    };
    let end = keys / polynomial.fragment - usize::from(!polynomial.last_fragment);
    format!(
        ", powers by MUFU.EX2 but the last {} of every {} in scores {} to {} of a block, which are a polynomial's",
        polynomial.of_frequency,
        positions.frequency,
        positions.first_fragment * polynomial.fragment,
        (end * polynomial.fragment).saturating_sub(1),
    )
}

pub fn plan<'a>(
    rule: &'a Attention,
    inputs: &Inputs<'a>,
    parameters: &Parameters,
    context: ExecContext<'a>,
) -> Result<Planned<Kernel<'a>>, OpError> {
    only(inputs, &["q", "k", "v"])?;
    let arithmetic = context.arithmetic.ok_or_else(|| {
        OpError::new(
            "arch",
            "`arch` is missing: attention multiplies on a GPU's tensor cores",
        )
    })?;
    let (q, k, v) = (
        needed(inputs, "q")?,
        needed(inputs, "k")?,
        needed(inputs, "v")?,
    );
    same_format(&q, "k", &k)?;
    same_format(&q, "v", &v)?;
    if q.format == Format::Fp32 {
        return Err(OpError::new(
            "q",
            "it is fp32; this attention takes fp16 and bf16",
        ));
    }
    let layout = parameters.layout.unwrap_or(rule.layout);
    let at = axes([&q, &k, &v], &layout, rule.thread.is_some())?;
    // One query sees all keys: the library then launches the kernel that is not causal, but version 4 does not ask.
    let causal = parameters.causal && (at.queries > 1 || rule.thread.is_some());
    let shape = Shape {
        at: &at,
        causal,
        gpu: &parameters.gpu,
    };
    let chosen = rule.kernel(&shape, parameters.tile)?;
    let tile = chosen.tile;
    if !is_tile(tile) {
        let reason = "`tile` must have 1 to 512 rows, and a multiple of 16 keys up to 512";
        return Err(OpError::new("tile", reason));
    }
    let polynomial = rule.thread.as_ref().and_then(|t| t.polynomial.as_ref());
    if let Some(polynomial) = polynomial
        && !tile[1].is_multiple_of(polynomial.fragment)
    {
        let fragment = polynomial.fragment;
        let reason = format!("`tile` must have a multiple of {fragment} keys: a row's fragment");
        return Err(OpError::new("tile", reason));
    }
    let wide = match &rule.thread {
        None => [chosen.head_dim; 2],
        Some(_) => [at.dim, at.value_dim].map(|dim| dim.next_multiple_of(16)),
    };
    let factor = parameters.softmax_scale.unwrap_or(usual_scale(at.dim));
    let value = f32::from_bits(factor);
    if !(value > 0.0 && value.is_finite()) {
        let reason = "`softmax_scale` must be a positive number; others are not modelled";
        return Err(OpError::new("softmax_scale", reason));
    }
    let scale = rule.scale(value);
    let about = format!(
        "{} heads on {} of {}, {} queries and {} keys{}, blocks of {} by {} keys, scores times {value}{}",
        at.heads,
        at.kv_heads,
        at.dim,
        at.queries,
        at.keys,
        if parameters.causal { ", causal" } else { "" },
        tile[0],
        tile[1],
        match &rule.thread {
            Some(_) => about_powers(polynomial, chosen.polynomial.as_ref(), tile[1]),
            None => String::new(),
        }
    );
    let output = match parameters.output.as_deref() {
        Some("row_max") => Output::Largest,
        Some("row_sum") => Output::Sum,
        _ => Output::Result,
    };
    let kernel = Kernel {
        rule,
        arithmetic,
        engine: context.engine,
        q,
        k,
        v,
        at,
        tile,
        wide,
        causal,
        scale,
        polynomial: by_polynomial(polynomial, chosen.polynomial.as_ref(), tile[1]),
        output,
    };
    let mut shape = q.shape().to_vec();
    let of_head = shape.pop().map(|_| at.value_dim);
    Ok(match output {
        Output::Result => Planned {
            shape: shape.into_iter().chain(of_head).collect(),
            ..Planned::like(&q, about, kernel)
        },
        _ => Planned {
            output: if output == Output::Sum {
                "row_sum"
            } else {
                "row_max"
            },
            format: Format::Fp32,
            shape,
            about,
            kernel,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::usual_scale;

    /// However the host's power rounds, the f32 is the same.
    #[test]
    fn the_usual_scale_does_not_depend_on_the_host() {
        for dim in 1..=512usize {
            let root = 1.0 / (dim as f64).sqrt();
            for ulp in -2i64..=2 {
                let near = f64::from_bits((root.to_bits() as i64 + ulp) as u64);
                assert_eq!((near as f32).to_bits(), usual_scale(dim), "{dim}");
            }
        }
    }
}
