//! What attention needs of its arrays: axes, tile, scale.

use std::f64::consts::LOG2_E;

use super::{Axes, Kernel};
use crate::arrays::{Rows, needed, only, same_format};
use crate::emu::is_called;
use crate::num::Format;
use crate::row_kernel::{ExecContext, Inputs, OpError, Parameters, Planned};
use crate::rule::{Attention, Layout, TileRule};
use crate::tensor::shape_text;
use crate::validate::is_tile;

/// The default factor of scores: 1/sqrt(d), as Python computes it.
fn usual_scale(dim: usize) -> u32 {
    ((1.0 / (dim as f64).sqrt()) as f32).to_bits()
}

fn axes([q, k, v]: [&Rows; 3], layout: &Layout) -> Result<Axes, OpError> {
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
    if k4 != v4 {
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
    })
}

/// A tile, and what the head's elements are filled up to.
type Tile = ([usize; 2], usize);

impl Attention {
    /// The tile for heads of `dim` elements on this GPU.
    fn tile(&self, dim: usize, causal: bool, gpu: &str) -> Result<Tile, OpError> {
        let found = |small: bool| {
            let holds =
                |condition: Option<bool>, is: bool| condition.is_none_or(|wanted| wanted == is);
            let fits = |rule: &&TileRule| {
                rule.head_dim >= dim && holds(rule.causal, causal) && holds(rule.small, small)
            };
            let rule = self.tiles.iter().find(fits);
            rule.map(|rule| (rule.tile, rule.head_dim))
        };
        let none = || {
            let most = self.tiles.last().map_or(0, |tile| tile.head_dim);
            OpError::new("q", format!("heads of {dim}: tiles are known up to {most}"))
        };
        let tile = found(is_called(gpu, &self.small)).ok_or_else(none)?;
        if is_called(gpu, &self.either) && found(true) != Some(tile) {
            let reason = "GPUs of this `arch` use different tiles; name the GPU, such as a100, or give `tile`";
            return Err(OpError::new("arch", reason));
        }
        Ok(tile)
    }
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
    let at = axes([&q, &k, &v], &layout)?;
    // One query sees all keys: the library then launches the kernel that is not causal.
    let causal = parameters.causal && at.queries > 1;
    // Whatever the tile, the width is the head dimension's.
    let gpu = if parameters.tile.is_some() {
        ""
    } else {
        &parameters.gpu
    };
    let (tile, wide) = rule.tile(at.dim, causal, gpu)?;
    let tile = parameters.tile.unwrap_or(tile);
    if !is_tile(tile) {
        let reason = "`tile` must have 1 to 512 rows, and a multiple of 16 keys up to 512";
        return Err(OpError::new("tile", reason));
    }
    let factor = parameters.softmax_scale.unwrap_or(usual_scale(at.dim));
    let value = f32::from_bits(factor);
    if !(value > 0.0 && value.is_finite()) {
        let reason = "`softmax_scale` must be a positive number; others are not modelled";
        return Err(OpError::new("softmax_scale", reason));
    }
    let scale = ((f64::from(value) * LOG2_E) as f32).to_bits();
    let about = format!(
        "{} heads on {} of {}, {} queries and {} keys{}, blocks of {} by {} keys, scores times {value}",
        at.heads,
        at.kv_heads,
        at.dim,
        at.queries,
        at.keys,
        if parameters.causal { ", causal" } else { "" },
        tile[0],
        tile[1]
    );
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
    };
    Ok(Planned::like(&q, about, kernel))
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
