//! Operands read otherwise: in another layout, with k permuted, with subnormals flushed, in another format.

use super::end::flushed;
use super::{Read, Variation};
use crate::diagnose::{Case, Hypothesis};
use crate::emu::{Arithmetic, Element};
use crate::num::{Format, Rounding, result_code};

/// What reports call this test.
pub const TRIED: &str = "operands read otherwise (another layout or leading dimension, k permuted, subnormals \
                         flushed, rounded to fewer bits, E4M3 against E4M3FNUZ)";

/// Operands that are read element by element.
struct Operands<'a> {
    case: Case<'a>,
    /// Of A and of B: how many lines there are, and how the file stores k: along a line's own direction or across.
    lines: [usize; 2],
    k: usize,
    across: [bool; 2],
}

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let problem = case.replay.problem;
    if problem.selected.is_some() {
        return Err("A is compressed");
    }
    let of = Operands::of(case);
    let mut all = formats(case);
    for side in [0, 1] {
        all.extend(of.layouts(side));
    }
    all.extend(of.permuted());
    all.extend(subnormals(case));
    for sides in [&[0, 1][..], &[0], &[1]] {
        all.extend(of.narrowed(sides));
    }
    all.extend(of.paired_layouts());
    Ok(all)
}

/// Subnormal operands taken as zeros: of both, of A, of B.
pub fn subnormals<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let of = Operands::of(case);
    let sides = [&[0, 1][..], &[0], &[1]].into_iter();
    sides.filter_map(|sides| of.flushing(sides)).collect()
}

impl<'a> Operands<'a> {
    fn of(case: &Case<'a>) -> Operands<'a> {
        let problem = case.replay.problem;
        Operands {
            case: *case,
            lines: [problem.m, problem.n],
            k: problem.k,
            across: [
                !problem.a.plane(0).has_rows_together(),
                problem.b.plane(0).has_rows_together(),
            ],
        }
    }

    /// The code of a line at k.
    fn code(case: &Case<'a>, side: usize, batch: usize, line: usize, k: usize) -> u64 {
        let problem = &case.replay.problem;
        match side {
            0 => problem.a.plane(batch).code(line, k),
            _ => problem.b.plane(batch).code(k, line),
        }
    }

    /// A reading of the memory of an operand: which position of a matrix belongs to a line and a k.
    fn memory(
        &self,
        side: usize,
        position: impl Fn(usize, usize) -> usize + Sync + 'a,
    ) -> Read<'a> {
        let (case, lines, k, across) = (self.case, self.lines[side], self.k, self.across[side]);
        Box::new(move |at: &Element, of_k: usize| {
            let line = [at.row, at.column][side];
            // Beyond the matrix anything may lie; it counts on from the beginning.
            let position = position(line, of_k) % (lines * k);
            let (line, of_k) = if across {
                (position % lines, position / lines)
            } else {
                (position / k, position % k)
            };
            Self::code(&case, side, at.batch, line, of_k)
        })
    }

    fn one(&self, kind: Hypothesis, what: String, side: usize, read: Read<'a>) -> Variation<'a> {
        let mut one = Variation::new(&self.case, kind, what);
        one.read[side] = Some(read);
        one
    }

    /// Other layouts of one operand's memory.
    fn layouts(&self, side: usize) -> Vec<Variation<'a>> {
        let (lines, k) = (self.lines[side], self.k);
        let name = ["A", "B"][side];
        // As the file has it: B row by row has k across its lines.
        let (rows, columns) = match (side, self.across[side]) {
            (0, false) | (1, true) => [(lines, k), (k, lines)][side],
            _ => [(k, lines), (lines, k)][side],
        };
        let across = self.across[side];
        let kind = Hypothesis::OperandLayout;
        let mut all = Vec::new();
        if rows > 1 && columns > 1 && rows != columns {
            let what = format!(
                "{name}'s memory ({rows}x{columns}, row by row) was read column by column, as if its columns lay one \
                 after another"
            );
            // The position counts the other way.
            let read = self.memory(side, move |line, of_k| {
                if across {
                    line * k + of_k
                } else {
                    of_k * lines + line
                }
            });
            all.push(self.one(kind, what, side, read));
        }
        // Another distance of rows: half, double, those of the other matrices, and powers of two.
        let problem = &self.case.replay.problem;
        let mut strides = vec![columns / 2, columns * 2, problem.m, problem.n, problem.k];
        strides.extend([16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
        for by in [1, 2, 4, 8, 16, 32] {
            strides.extend([columns + by, columns.saturating_sub(by)]);
        }
        let mut known = vec![0, columns];
        for stride in strides {
            if known.contains(&stride) {
                continue;
            }
            known.push(stride);
            let what = format!("{name} was read with rows {stride} elements apart, not {columns}");
            let read = self.memory(side, move |line, of_k| {
                if across {
                    of_k * stride + line
                } else {
                    line * stride + of_k
                }
            });
            all.push(self.one(kind, what, side, read));
        }
        for off in [1, 2, 4, 8, 16, 32, 64, 128] {
            for (by, which) in [(off, "after"), (lines * k - off.min(lines * k), "before")] {
                // Whole rows further on are another row's place.
                if off >= lines * k || off.is_multiple_of(columns) {
                    continue;
                }
                let what = format!("{name} was read from {off} elements {which} its first one on");
                let read = self.memory(side, move |line, of_k| {
                    let own = if across {
                        of_k * lines + line
                    } else {
                        line * k + of_k
                    };
                    own + by
                });
                all.push(self.one(kind, what, side, read));
            }
        }
        for group in [4, 2, 8, 16, 32] {
            if !k.is_multiple_of(group) || k == group {
                continue;
            }
            let packed = if group == 4 { " (as int8x4)" } else { "" };
            let what = format!("{name}'s memory was read in groups of {group} k{packed}");
            let read = self.memory(side, move |line, of_k| {
                of_k / group * group * lines + line * group + of_k % group
            });
            all.push(self.one(kind, what, side, read));
        }
        all
    }

    /// Both operands with columns one after another.
    fn paired_layouts(&self) -> Option<Variation<'a>> {
        let [m, n] = self.lines;
        let k = self.k;
        let across = self.across;
        let columns = |side: usize| {
            let lines = self.lines[side];
            self.memory(side, move |line, of_k| {
                if across[side] {
                    line * k + of_k
                } else {
                    of_k * lines + line
                }
            })
        };
        (m > 1 && n > 1 && k > 1 && (m != k || n != k)).then(|| {
            let what = "A's and B's memory was read column by column, as if their columns lay one after another";
            let mut one = Variation::new(&self.case, Hypothesis::OperandLayout, what);
            one.read = [Some(columns(0)), Some(columns(1))];
            one
        })
    }

    /// The k of one operand in another order, within groups; and small blocks of it transposed.
    fn permuted(&self) -> Vec<Variation<'a>> {
        let k = self.k;
        type Order = (String, usize, fn(usize) -> usize);
        let orders: [Order; 14] = [
            (
                "the k 0 to 7 and 8 to 15 of every 16 are exchanged".into(),
                16,
                |k| k ^ 8,
            ),
            ("neighbouring k are exchanged".into(), 2, |k| k ^ 1),
            ("neighbouring pairs of k are exchanged".into(), 4, |k| k ^ 2),
            (
                "the k 0 to 3 and 4 to 7 of every 8 are exchanged".into(),
                8,
                |k| k ^ 4,
            ),
            (
                "the k 0 to 15 and 16 to 31 of every 32 are exchanged".into(),
                32,
                |k| k ^ 16,
            ),
            (
                "the k 0 to 31 and 32 to 63 of every 64 are exchanged".into(),
                64,
                |k| k ^ 32,
            ),
            ("every 4 k are reversed".into(), 4, |k| k ^ 3),
            ("every 8 k are reversed".into(), 8, |k| k ^ 7),
            ("every 16 k are reversed".into(), 16, |k| k ^ 15),
            ("the halves of every 16 k are interleaved".into(), 16, |k| {
                k & !15 | (k & 1) << 3 | (k & 15) >> 1
            }),
            ("even and odd k of every 16 are separated".into(), 16, |k| {
                k & !15 | (k & 7) << 1 | (k & 15) >> 3
            }),
            ("the halves of every 8 k are interleaved".into(), 8, |k| {
                k & !7 | (k & 1) << 2 | (k & 7) >> 1
            }),
            ("even and odd k of every 8 are separated".into(), 8, |k| {
                k & !7 | (k & 3) << 1 | (k & 7) >> 2
            }),
            (
                "the pairs of both halves of every 16 k are interleaved".into(),
                16,
                |k| k & !15 | (k & 2) << 2 | (k & 12) >> 1 | k & 1,
            ),
        ];
        let mut all = Vec::new();
        for (what, of, order) in orders {
            if !k.is_multiple_of(of) {
                continue;
            }
            for side in [0, 1] {
                let name = ["A", "B"][side];
                let case = self.case;
                let read: Read<'a> = Box::new(move |at: &Element, of_k: usize| {
                    let line = [at.row, at.column][side];
                    Self::code(&case, side, at.batch, line, order(of_k))
                });
                let what = format!("{what} in {name}");
                all.push(self.one(Hypothesis::PermutedK, what, side, read));
            }
        }
        for block in [8, 16, 4, 32] {
            for side in [0, 1] {
                let lines = self.lines[side];
                if !k.is_multiple_of(block) || !lines.is_multiple_of(block) {
                    continue;
                }
                let name = ["A", "B"][side];
                let hint = if block == 8 {
                    " (ldmatrix with .trans, or without)"
                } else {
                    ""
                };
                let what = format!("every {block}x{block} block of {name} is transposed{hint}");
                let case = self.case;
                let read: Read<'a> = Box::new(move |at: &Element, of_k: usize| {
                    let line = [at.row, at.column][side];
                    let there = line / block * block + of_k % block;
                    let of_k = of_k / block * block + line % block;
                    Self::code(&case, side, at.batch, there, of_k)
                });
                all.push(self.one(Hypothesis::PermutedK, what, side, read));
            }
        }
        all
    }

    /// Subnormal operands taken as zeros.
    fn flushing(&self, sides: &[usize]) -> Option<Variation<'a>> {
        let arithmetic = self.case.replay.arithmetic;
        let formats = [arithmetic.a, arithmetic.b];
        let floats = sides
            .iter()
            .all(|&side| !formats[side].is_integer() && formats[side].exponent_bits() > 0);
        let names: Vec<&str> = sides.iter().map(|&side| ["A", "B"][side]).collect();
        floats.then(|| {
            let what = format!(
                "subnormal numbers of {} are taken as zeros",
                names.join(" and ")
            );
            let mut one = Variation::new(&self.case, Hypothesis::Subnormals, what);
            for &side in sides {
                let (case, format) = (self.case, formats[side]);
                one.read[side] = Some(Box::new(move |at: &Element, of_k: usize| {
                    let line = [at.row, at.column][side];
                    flushed(format, Self::code(&case, side, at.batch, line, of_k))
                }));
            }
            one
        })
    }
}

impl<'a> Operands<'a> {
    /// Operands rounded to a narrower format before the requested unit multiplies them.
    fn narrowed(&self, sides: &[usize]) -> Vec<Variation<'a>> {
        let arithmetic = self.case.replay.arithmetic;
        let formats = [arithmetic.a, arithmetic.b];
        let narrower: &[Format] = match formats[sides[0]] {
            Format::Fp32 => &[Format::Bf16, Format::Fp16],
            Format::Tf32 | Format::Xf32 => &[Format::Bf16],
            Format::Fp16 => &[Format::Bf16, Format::E4m3, Format::E5m2],
            Format::Bf16 => &[Format::E4m3, Format::E5m2],
            _ => &[],
        };
        if sides.iter().any(|&side| formats[side] != formats[sides[0]]) {
            return Vec::new();
        }
        let names: Vec<&str> = sides.iter().map(|&side| ["A", "B"][side]).collect();
        let of = |(to, rounding): (Format, Rounding)| {
            let verb = if sides.len() == 1 { "is" } else { "are" };
            let alone = if sides.len() == 1 { " alone" } else { "" };
            let what = format!(
                "{}{alone} {verb} {} to {} before the product",
                names.join(" and "),
                match rounding {
                    Rounding::TowardZero => "cut",
                    _ => "rounded",
                },
                to.name().to_uppercase()
            );
            let mut one = Variation::new(&self.case, Hypothesis::Precision, what);
            for &side in sides {
                let (case, own) = (self.case, formats[side]);
                // The codes of TF32 are those of FP32.
                let wide = if own.ignored_bits() > 0 {
                    Format::Fp32
                } else {
                    own
                };
                one.read[side] = Some(Box::new(move |at: &Element, of_k: usize| {
                    let line = [at.row, at.column][side];
                    let code = Self::code(&case, side, at.batch, line, of_k);
                    let narrow = result_code(wide, code, to, rounding);
                    result_code(to, narrow, wide, Rounding::NearestEven)
                }));
            }
            one
        };
        let roundings = [Rounding::NearestEven, Rounding::TowardZero];
        let all = narrower
            .iter()
            .flat_map(|to| roundings.map(|how| (*to, how)));
        all.map(of).collect()
    }
}

/// E4M3 and E5M2 with and without FNUZ, by the unit's own arithmetic.
fn formats<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let own = case.replay.arithmetic;
    let other = |format: Format| {
        Some(match format {
            Format::E4m3 => Format::E4m3fnuz,
            Format::E4m3fnuz => Format::E4m3,
            Format::E5m2 => Format::E5m2fnuz,
            Format::E5m2fnuz => Format::E5m2,
            _ => return None,
        })
    };
    let read = [other(own.a), other(own.b)];
    let mut all = Vec::new();
    for sides in [[true, true], [true, false], [false, true]] {
        let of = |side: usize, own: Format| if sides[side] { read[side] } else { Some(own) };
        let (Some(a), Some(b)) = (of(0, own.a), of(1, own.b)) else {
            continue;
        };
        let arithmetic = Arithmetic {
            a,
            b,
            ..own.clone()
        };
        if arithmetic.check().is_err() {
            continue;
        }
        let problem = &case.replay.problem;
        let arrays =
            [(problem.a, a), (problem.b, b)].map(|(planes, format)| planes.tensor().reread(format));
        if arrays.iter().any(Option::is_none) {
            continue;
        }
        let pairs = [("A", a, own.a, sides[0]), ("B", b, own.b, sides[1])];
        let held: Vec<String> = pairs
            .iter()
            .filter(|(.., other)| *other)
            .map(|(name, is, not, _)| {
                let [is, not] = [is, not].map(|format| format.name().to_uppercase());
                format!("the codes of {name} are {is}, not {not}")
            })
            .collect();
        let one = Variation::new(case, Hypothesis::Formats, held.join(", and "));
        all.push(Variation {
            arrays,
            arithmetic: Some(arithmetic),
            ..one
        });
    }
    all
}
