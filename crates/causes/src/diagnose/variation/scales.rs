//! Scales of A and B, the kernel's or the instruction's, taken otherwise.

use super::Variation;
use crate::diagnose::defects::known;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::schedule::{Per, scale_shapes};
use crate::num::Format;
use crate::tensor::{Planes, Tensor};

/// What reports call this test.
pub const TRIED: &str = "scales left out, inverted, cut to powers of two, of another block or row, or in another layout";

/// Scales that are listed otherwise in the time of a multiply-add, about.
const LISTED: usize = 32;

/// The scales of one operand: for every line (a row of A, a column of B) one for each block of k.
struct Table {
    side: usize,
    format: Format,
    batches: usize,
    lines: usize,
    blocks: usize,
    /// k of a block, if there are several.
    of_k: Option<usize>,
    /// By matrix, line and block.
    codes: Vec<u64>,
}

/// Another reading of scales: what is said, and the code for a matrix, a line and a block.
type Other<'t> = (String, Box<dyn Fn([usize; 3]) -> u64 + 't>);

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let mut all = Vec::new();
    let Some(tables) = tables(case) else {
        return Ok(all);
    };
    if tables
        .iter()
        .any(|table| (table.codes.len() * LISTED) as u64 > case.work)
    {
        return Err("there are too many");
    }
    for table in &tables {
        for (what, other) in table.others(case) {
            let mut codes = Vec::with_capacity(table.codes.len());
            for batch in 0..table.batches {
                for line in 0..table.lines {
                    codes.extend((0..table.blocks).map(|block| other([batch, line, block])));
                }
            }
            // Scales that are all equal tell nothing.
            if codes == table.codes {
                continue;
            }
            let one = Variation::new(case, Hypothesis::Scales, what);
            let mut both = tables.each_ref().map(|table| table.codes.clone());
            both[table.side] = codes;
            all.push(varied(case, &tables, one, both));
        }
    }
    let [a, b] = &tables;
    if [a.batches, a.lines, a.blocks] == [b.batches, b.lines, b.blocks] && a.codes != b.codes {
        let what = "the scales of A's rows and of B's columns are exchanged";
        let one = Variation::new(case, Hypothesis::Scales, what);
        all.push(varied(
            case,
            &tables,
            one,
            [b.codes.clone(), a.codes.clone()],
        ));
    }
    for to in [PowerOfTwo::Cut, PowerOfTwo::Up] {
        let codes = tables.each_ref().map(|table| {
            let codes = table.codes.iter();
            codes.map(|&code| to.of(table.format, code)).collect()
        });
        let both = tables
            .iter()
            .zip(&codes)
            .all(|(table, codes)| table.codes != *codes);
        if both {
            let what = to.said("A and B", case, tables[0].format);
            all.push(varied(
                case,
                &tables,
                Variation::new(case, Hypothesis::Scales, what),
                codes,
            ));
        }
    }
    Ok(all)
}

/// A scale's mantissa, dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PowerOfTwo {
    Cut,
    Up,
}

impl PowerOfTwo {
    fn of(self, format: Format, code: u64) -> u64 {
        let mask = (1u64 << format.fraction_bits()) - 1;
        match (self, code & mask) {
            (_, 0) => code,
            (PowerOfTwo::Cut, _) => code & !mask,
            (PowerOfTwo::Up, _) => (code & !mask) + mask + 1,
        }
    }

    fn said(self, name: &str, case: &Case, format: Format) -> String {
        let (how, cause) = match self {
            PowerOfTwo::Cut => (
                "cut to powers of two (their mantissa is ignored)",
                "scales_cut",
            ),
            PowerOfTwo::Up => ("rounded up to powers of two", "scales_rounded_up"),
        };
        // Others were met with scales in FP32.
        let known = match format {
            Format::Fp32 => known(cause, case.architecture),
            _ => String::new(),
        };
        format!("the scales of {name} are {how}{known}")
    }
}

/// The scales of A and of B, if there are any.
fn tables(case: &Case) -> Option<[Table; 2]> {
    let problem = &case.replay.problem;
    if let Some(scales) = &problem.scales {
        let format = case.replay.arithmetic.scale?.format;
        let table = |side: usize, planes: Planes| {
            let [rows, columns] = [planes.rows(), planes.columns()];
            let [lines, blocks] = [[rows, columns], [columns, rows]][side];
            let batches = planes.batches();
            let mut codes = Vec::with_capacity(batches * lines * blocks);
            for batch in 0..batches {
                let plane = planes.plane(batch);
                for line in 0..lines {
                    codes.extend((0..blocks).map(|block| match side {
                        0 => plane.code(line, block),
                        _ => plane.code(block, line),
                    }));
                }
            }
            Table {
                side,
                format,
                batches,
                lines,
                blocks,
                of_k: (blocks > 1).then_some(scales.block),
                codes,
            }
        };
        return Some([table(0, scales.a), table(1, scales.b)]);
    }
    let kernel = case.replay.kernel?;
    let per = kernel.spec.scales.as_ref()?.per;
    let of_k = match per {
        Per::Block { k, .. } => Some(k),
        _ => None,
    };
    let table = |side: usize| {
        let stored = kernel.values.scale_codes(side)?;
        let [rows, columns] = scale_shapes(per, problem.m, problem.n, problem.k)[side];
        let whole = rows * columns;
        let batches = stored.len() / whole.max(1);
        let [lines, blocks] = [[rows, columns], [columns, rows]][side];
        let at = |batch: usize, line: usize, block: usize| {
            let [row, column] = [[line, block], [block, line]][side];
            u64::from(stored[batch * whole + row * columns + column])
        };
        let mut codes = Vec::with_capacity(stored.len());
        for batch in 0..batches {
            for line in 0..lines {
                codes.extend((0..blocks).map(|block| at(batch, line, block)));
            }
        }
        Some(Table {
            side,
            format: Format::Fp32,
            batches,
            lines,
            blocks,
            of_k: of_k.filter(|_| blocks > 1),
            codes,
        })
    };
    Some([table(0)?, table(1)?])
}

impl Table {
    fn at(&self, [batch, line, block]: [usize; 3]) -> u64 {
        self.codes[(batch * self.lines + line) * self.blocks + block]
    }

    /// The code at a position of the memory of one matrix, line by line.
    fn memory(&self, batch: usize, position: usize) -> u64 {
        self.codes[batch * self.lines * self.blocks + position]
    }

    fn one(&self) -> u64 {
        (self.format.bias() as u64) << self.format.fraction_bits()
    }

    fn others(&self, case: &Case) -> Vec<Other<'_>> {
        let name = ["A", "B"][self.side];
        let line = ["row", "column"][self.side];
        let (lines, blocks, format) = (self.lines, self.blocks, self.format);
        let fraction = format.fraction_bits();
        let mask = (1u64 << fraction) - 1;
        let mut all: Vec<Other> = vec![(
            format!("the scales of {name} were left out (taken as 1)"),
            Box::new(|_| self.one()),
        )];
        let mut each = |what: String, change: Box<dyn Fn(u64) -> u64>| {
            all.push((what, Box::new(move |at| change(self.at(at)))));
        };
        match format {
            Format::Fp32 => each(
                format!("{name} was divided by its scales, not multiplied"),
                Box::new(|code| u64::from((1.0 / f32::from_bits(code as u32)).to_bits())),
            ),
            Format::Ue8m0 => each(
                format!("{name} was divided by its scales, not multiplied"),
                Box::new(|code| 254u64.saturating_sub(code)),
            ),
            _ => {}
        }
        if fraction > 0 {
            for to in [PowerOfTwo::Cut, PowerOfTwo::Up] {
                let what = to.said(name, case, format);
                each(what, Box::new(move |code| to.of(format, code)));
            }
        }
        let last = format.max_code();
        each(
            format!("the scales of {name} are twice as large (their exponents are one too large)"),
            Box::new(move |code| (code + mask + 1).min(last)),
        );
        each(
            format!("the scales of {name} are half as large (their exponents are one too small)"),
            Box::new(move |code| code.saturating_sub(mask + 1)),
        );
        if let Some(of_k) = self.of_k {
            all.push((
                format!(
                    "every block of {of_k} k uses the scale of {name}'s first block (k 0 to {})",
                    of_k - 1
                ),
                Box::new(|[batch, line, _]| self.at([batch, line, 0])),
            ));
            for (by, which) in [(1, "next"), (blocks - 1, "previous")] {
                all.push((
                    format!("every block of {of_k} k uses the scale of {name}'s {which} block, wrapping around"),
                    Box::new(move |[batch, line, block]| {
                        self.at([batch, line, (block + by) % blocks])
                    }),
                ));
            }
        }
        if lines > 1 {
            all.push((
                format!("every {line} of {name} uses the scales of the first one"),
                Box::new(|[batch, _, block]| self.at([batch, 0, block])),
            ));
            for tile in [128, 64, 32, 16, 8]
                .into_iter()
                .filter(|tile| *tile < lines)
            {
                all.push((
                    format!(
                        "every tile of {tile} {line}s of {name} uses the scales of the first tile"
                    ),
                    Box::new(move |[batch, line, block]| self.at([batch, line % tile, block])),
                ));
                if lines > 2 * tile {
                    all.push((
                        format!("every {line} of {name} in a tile of {tile} uses the scales of the tile's first {line}"),
                        Box::new(move |[batch, line, block]| {
                            self.at([batch, line / tile * tile, block])
                        }),
                    ));
                }
            }
            for by in [1, 16, 32, 64, 128] {
                for (by, which) in [(by, "further"), (lines - by.min(lines), "before")] {
                    let shown = if which == "further" { by } else { lines - by };
                    if by == 0 || by >= lines || shown >= lines {
                        continue;
                    }
                    all.push((
                        format!("every {line} of {name} uses the scales of the one {shown} {which}, wrapping around"),
                        Box::new(move |[batch, line, block]| {
                            self.at([batch, (line + by) % lines, block])
                        }),
                    ));
                }
            }
        }
        if lines > 1 && blocks > 1 {
            all.push((
                format!("the scales of {name} are read block by block, but stored {line} by {line}: as the transpose"),
                Box::new(move |[batch, line, block]| self.memory(batch, block * lines + line)),
            ));
        }
        if lines.is_multiple_of(128) && blocks.is_multiple_of(4) {
            // Where a kernel of Blackwell finds a scale.
            let blocked = move |line: usize, block: usize| {
                let tile = line / 128 * (blocks / 4) + block / 4;
                (tile * 32 + line % 32) * 16 + line % 128 / 32 * 4 + block % 4
            };
            all.push((
                format!(
                    "the scales of {name} are read in 128x4 blocks, but stored {line} by {line}"
                ),
                Box::new(move |[batch, line, block]| self.memory(batch, blocked(line, block))),
            ));
            let mut from = vec![0; lines * blocks];
            for line in 0..lines {
                for block in 0..blocks {
                    from[blocked(line, block)] = line * blocks + block;
                }
            }
            all.push((
                format!(
                    "the scales of {name} are stored in 128x4 blocks, but read {line} by {line}"
                ),
                Box::new(move |[batch, line, block]| {
                    self.memory(batch, from[line * blocks + block])
                }),
            ));
        }
        all
    }
}

/// A variation with these codes of A and of B, by matrix, line and block.
fn varied<'a>(
    case: &Case<'a>,
    tables: &[Table; 2],
    one: Variation<'a>,
    codes: [Vec<u64>; 2],
) -> Variation<'a> {
    // Stored as they are given: of B, blocks are rows.
    let stored = |table: &Table, codes: &[u64]| -> Vec<u64> {
        if table.side == 0 {
            return codes.to_vec();
        }
        let (lines, blocks) = (table.lines, table.blocks);
        let whole = lines * blocks;
        let at = |i: usize| {
            let (batch, rest) = (i / whole, i % whole);
            codes[batch * whole + rest % lines * blocks + rest / lines]
        };
        (0..codes.len()).map(at).collect()
    };
    let (Some(kernel), None) = (case.replay.kernel, case.replay.problem.scales) else {
        let tensor = |table: &Table| {
            let mut shape = case.replay.problem.a.batch_shape().to_vec();
            if table.batches == 1 {
                shape.clear();
            }
            shape.extend(match table.side {
                0 => [table.lines, table.blocks],
                _ => [table.blocks, table.lines],
            });
            Tensor::from_codes(table.format, shape, &stored(table, &codes[table.side]))
        };
        let [a, b] = tables.each_ref().map(tensor);
        return Variation {
            scales: Some([a, b]),
            ..one
        };
    };
    let mut values = kernel.values.clone();
    for table in tables {
        let codes = stored(table, &codes[table.side]).into_iter();
        values = values.with_scale_codes(table.side, codes.map(|code| code as u32).collect());
    }
    one.around(kernel.spec.clone(), values)
}
