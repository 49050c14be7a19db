//! One operation on given arrays: which results there are, and how rows of one are computed.

mod compute;

use std::ops::Range;

use super::float32::{Exactly, Log, Natively, Perturbed, Tracing, UlpPerturbation, with_fma};
use super::row_kernel::{ExecContext, Inputs, OpError, Parameters, Planned, RowKernel};
use super::rule::Rule;
use super::{
    attention, block_float, elementwise, mul_mat_vec, norm, quantize, ranks, rope, softmax,
};
use crate::emu::Engine;
use crate::num::Format;

/// A row kernel of any type.
trait Work: Sync {
    fn natively(&self, rows: Range<usize>, out: &mut [u32]);
    fn exactly(&self, rows: Range<usize>, out: &mut [u32]);
    fn tracing(&self, log: &Log, row: usize, out: &mut [u32]);
    fn perturbed(&self, perturbation: &UlpPerturbation, row: usize, out: &mut [u32]);
    fn products(&self) -> u64;
    fn end(&self, row: usize) -> usize;
}

impl<K: RowKernel> Work for K {
    fn natively(&self, rows: Range<usize>, out: &mut [u32]) {
        with_fma(|| self.compute(Natively::new(), rows, out));
    }

    fn exactly(&self, rows: Range<usize>, out: &mut [u32]) {
        self.compute(Exactly, rows, out);
    }

    fn tracing(&self, log: &Log, row: usize, out: &mut [u32]) {
        let tracing = Tracing {
            inner: Exactly,
            log,
        };
        self.compute(tracing, row..row + 1, out);
    }

    fn perturbed(&self, perturbation: &UlpPerturbation, row: usize, out: &mut [u32]) {
        let inner = Natively::new();
        with_fma(|| {
            self.compute(
                Perturbed {
                    inner,
                    perturbation,
                },
                row..row + 1,
                out,
            )
        });
    }

    fn products(&self) -> u64 {
        RowKernel::products(self)
    }

    fn end(&self, row: usize) -> usize {
        RowKernel::end(self, row)
    }
}

/// An operation ready to be computed.
pub struct BoundOp<'a> {
    work: Box<dyn Work + 'a>,
    engine: Engine<'static>,
    /// Which of the operation's results.
    pub output: &'static str,
    pub format: Format,
    pub shape: Vec<usize>,
    /// What the rule makes of these shapes, in one line.
    pub about: String,
}

impl std::fmt::Debug for BoundOp<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundOp")
            .field("output", &self.output)
            .field("shape", &self.shape)
            .finish()
    }
}

impl<'a> BoundOp<'a> {
    /// Pairs a rule with arrays and parameters; nothing is computed.
    ///
    /// # Errors
    /// What does not fit.
    pub fn new(
        rule: &'a Rule,
        inputs: &Inputs<'a>,
        parameters: &Parameters,
        context: ExecContext<'a>,
    ) -> Result<BoundOp<'a>, OpError> {
        fn job<'a>(planned: Planned<impl RowKernel + 'a>, engine: Engine<'static>) -> BoundOp<'a> {
            BoundOp {
                work: Box::new(planned.kernel),
                engine,
                output: planned.output,
                format: planned.format,
                shape: planned.shape,
                about: planned.about,
            }
        }
        check_output(rule, parameters)?;
        let engine = context.engine;
        Ok(match rule {
            Rule::Attention(rule) => {
                job(attention::plan(rule, inputs, parameters, context)?, engine)
            }
            Rule::MulMatVecQ(rule) => job(mul_mat_vec::plan(rule, inputs)?, engine),
            Rule::RmsNorm(rule) => job(norm::rms(rule, inputs, parameters)?, engine),
            Rule::LayerNorm(rule) => job(norm::layer(rule, inputs, parameters)?, engine),
            Rule::AllReduceSum(rule) => job(ranks::plan(rule, inputs)?, engine),
            Rule::Softmax(rule) => job(softmax::plan(rule, inputs)?, engine),
            Rule::Rope(rule) => job(rope::plan(rule, inputs, parameters)?, engine),
            Rule::QuantizeFp8(rule) => job(quantize::plan(rule, inputs, parameters)?, engine),
            Rule::QuantizeBfp(rule) => job(block_float::plan(rule, inputs)?, engine),
            other => job(elementwise::plan(other, inputs)?, engine),
        })
    }

    /// Elements of a row.
    pub fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Rows over all leading axes.
    pub fn rows(&self) -> usize {
        match self.columns() {
            0 => 0,
            columns => self.shape.iter().product::<usize>() / columns,
        }
    }
}

/// Refuses an output that the operation does not have.
fn check_output(rule: &Rule, parameters: &Parameters) -> Result<(), OpError> {
    let Some(output) = parameters.output.as_deref() else {
        return Ok(());
    };
    let names: &[_] = match rule {
        Rule::Attention(_) if output == "lse" => {
            let reason = "`output` \"lse\": the logarithm of the sum of exponentials needs MUFU.LG2, whose table \
                          is not proven on any GPU since Tesla";
            return Err(OpError::new("output", reason));
        }
        Rule::Attention(rule) if rule.thread.is_some() => &["y", "row_max", "row_sum"],
        Rule::RmsNorm(rule) if rule.residual => &["y", "residual"],
        Rule::QuantizeFp8(_) => &["y", "scale"],
        _ => &["y"],
    };
    if names.contains(&output) {
        return Ok(());
    }
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let reason = format!(
        "`output` {output:?}: {} has {}",
        rule.operation(),
        names.join(" and ")
    );
    Err(OpError::new("output", reason))
}
