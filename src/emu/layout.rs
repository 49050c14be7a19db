//! Which thread of an instruction holds an element of its D: not arithmetic, but where a fault would
//! show.

use serde::{Deserialize, Serialize};

use crate::num::Format;

/// How an instruction spreads its D over threads, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub kind: LayoutKind,
    /// Keys of the architecture's `sources`.
    pub source: Vec<String>,
}

/// A D of fixed size, its rows and columns dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LayoutKind {
    /// PTX `mma` with D of 16 x 8: lane 4·(i mod 8) + j / 2, accumulators 0 and 1 in the upper half, 2
    /// and 3 in the lower.
    MmaM16n8,
    /// PTX `wgmma` with D of 64 rows, here of 256 columns: a warp has 16 rows, its lanes as in `mma`.
    WgmmaM64,
    /// Volta's `wmma` with D of 16 x 16: octets of two threadgroups make 8 x 8 blocks, the threadgroup
    /// of four threads 4 x 8 of them.
    Octets,
    /// RDNA 3 WMMA with D of 16 x 16: a lane has one column, lanes mod 16 the same; which of two or four rows it is, and in
    /// which register, depends on the wave.
    Rdna3Wmma,
    /// RDNA 4 WMMA with D of 16 x 16, wave32: lane 16·(i / 8) + j.
    Rdna4WmmaWave32,
    /// RDNA 4 WMMA with D of 16 x 16, wave64: lane 32·(i mod 8 / 4) + 16·(i / 8) + j.
    Rdna4WmmaWave64,
}

/// Mismatches by the unit that holds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Units {
    pub layout: LayoutKind,
    /// What is counted: lanes, warps, octets.
    pub unit: std::borrow::Cow<'static, str>,
    /// By number of the unit.
    pub counts: Vec<u64>,
}

impl LayoutKind {
    /// Rows and columns of D; the unit that mismatches are counted by, and how many there are.
    fn shape(self) -> ([usize; 2], &'static str, usize) {
        match self {
            LayoutKind::MmaM16n8 => ([16, 8], "lane", 32),
            LayoutKind::WgmmaM64 => ([64, 256], "warp", 4),
            LayoutKind::Octets => ([16, 16], "octet", 4),
            LayoutKind::Rdna3Wmma => ([16, 16], "lane column", 16),
            LayoutKind::Rdna4WmmaWave32 => ([16, 16], "lane", 32),
            LayoutKind::Rdna4WmmaWave64 => ([16, 16], "lane", 64),
        }
    }

    /// Rows and columns of D.
    pub fn tile(self) -> [usize; 2] {
        self.shape().0
    }

    pub fn unit(self) -> &'static str {
        self.shape().1
    }

    pub fn units(self) -> usize {
        self.shape().2
    }

    /// The unit that holds an element, if D is tiled plainly.
    pub fn unit_of(self, row: usize, column: usize) -> usize {
        match self {
            LayoutKind::MmaM16n8 => lane(row, column),
            LayoutKind::WgmmaM64 => row % 64 / 16,
            LayoutKind::Octets => row % 16 / 8 + 2 * (column % 16 / 8),
            LayoutKind::Rdna3Wmma => column % 16,
            LayoutKind::Rdna4WmmaWave32 => 16 * (row % 16 / 8) + column % 16,
            LayoutKind::Rdna4WmmaWave64 => 32 * (row % 8 / 4) + 16 * (row % 16 / 8) + column % 16,
        }
    }

    /// Describes where an element is, if D is tiled plainly.
    pub fn describe(self, accumulator: Format, row: usize, column: usize) -> String {
        let [m, n] = self.tile();
        let tile = format!("tile {},{} of {m}x{n}", row / m, column / n);
        let pair = accumulator.bytes() == 2;
        // Which of a lane's accumulators; two FP16 ones share a register.
        let register = |blocks: usize| {
            let (half, low) = (row % 16 / 8, column % 2);
            if pair {
                format!("register {}, half {low}", 2 * blocks + half)
            } else {
                format!("register {}", 4 * blocks + 2 * half + low)
            }
        };
        match self {
            LayoutKind::MmaM16n8 => {
                format!("{tile}: lane {}, {}", lane(row, column), register(0))
            }
            LayoutKind::WgmmaM64 => format!(
                "{tile}: warp {}, lane {}, {}",
                self.unit_of(row, column),
                lane(row, column),
                register(column % n / 8)
            ),
            LayoutKind::Octets => {
                let octet = self.unit_of(row, column);
                let group = octet + 4 * (row % 8 / 4);
                let thread = if pair {
                    format!(", thread {}", 4 * group + row % 4)
                } else {
                    String::new()
                };
                format!("{tile}: octet {octet}, threadgroup {group}{thread}")
            }
            LayoutKind::Rdna3Wmma => {
                // Two rows a register, or four.
                let [narrow, wide] = [2, 4].map(|rows| {
                    let (lane, register) = (16 * (row % rows) + column % 16, row % 16 / rows);
                    format!("lane {lane}, register {register}")
                });
                format!("{tile}: {narrow} of wave32, {wide} of wave64")
            }
            LayoutKind::Rdna4WmmaWave32 | LayoutKind::Rdna4WmmaWave64 => {
                let rows = if self == LayoutKind::Rdna4WmmaWave32 {
                    8
                } else {
                    4
                };
                let own = row % rows;
                let register = if pair {
                    format!("register {}, half {}", own / 2, own % 2)
                } else {
                    format!("register {own}")
                };
                format!("{tile}: lane {}, {register}", self.unit_of(row, column))
            }
        }
    }
}

/// PTX ISA, fragments of `mma` and `wgmma`: four lanes share a row of eight columns.
fn lane(row: usize, column: usize) -> usize {
    4 * (row % 8) + column % 8 / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PTX ISA, mma.m16n8k16: groupID = lane >> 2, row = groupID (+ 8 for c2 and c3), column =
    /// 2 * (lane & 3) + (i & 1).
    #[test]
    fn every_lane_of_mma_holds_what_ptx_says() {
        for lane in 0..32 {
            for i in 0..4 {
                let (row, column) = ((lane >> 2) + 8 * (i / 2), 2 * (lane & 3) + (i & 1));
                let kind = LayoutKind::MmaM16n8;
                assert_eq!(kind.unit_of(row, column), lane);
                let text = kind.describe(Format::Fp32, row + 32, column + 8);
                assert_eq!(text, format!("tile 2,1 of 16x8: lane {lane}, register {i}"));
                let text = kind.describe(Format::Fp16, row, column);
                assert!(
                    text.ends_with(&format!("register {}, half {}", i / 2, i & 1)),
                    "{text}"
                );
            }
        }
    }

    /// PTX ISA, wgmma D: d[i], row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) +
    /// 2 * (lane % 4) + i % 2.
    #[test]
    fn every_register_of_wgmma_is_where_ptx_says() {
        for warp in 0..4 {
            for lane in 0..32 {
                for i in 0..128 {
                    let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
                    let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                    let text = LayoutKind::WgmmaM64.describe(Format::Fp32, row, column);
                    let expected = format!("warp {warp}, lane {lane}, register {i}");
                    assert!(text.ends_with(&expected), "{text} {expected}");
                }
            }
        }
    }

    /// Rows by lane L and register r, from the captures' own register files: RDNA 3 2r + L / 16 (wave32) or 4r + L / 16,
    /// RDNA 4 8 (L / 16) + r or 8 (L / 16 mod 2) + 4 (L / 32) + r, with two rows a register in 16 bits; the column is L mod 16.
    #[test]
    fn every_lane_of_wmma_holds_its_rows() {
        for (wave, lanes) in [(32, 32), (64, 64)] {
            for lane in 0..lanes {
                for r in 0..256 / lanes {
                    let column = lane % 16;
                    let here = format!("lane {lane}, register {r} of wave{wave}");
                    let row = lanes / 16 * r + lane / 16;
                    let text = LayoutKind::Rdna3Wmma.describe(Format::Fp32, row, column + 16);
                    assert!(
                        text.starts_with("tile 0,1 of 16x16: ") && text.contains(&here),
                        "{text}"
                    );
                    assert_eq!(LayoutKind::Rdna3Wmma.unit_of(row, column), lane % 16);

                    let (kind, first) = match wave {
                        32 => (LayoutKind::Rdna4WmmaWave32, 8 * (lane / 16)),
                        _ => (
                            LayoutKind::Rdna4WmmaWave64,
                            8 * (lane / 16 % 2) + 4 * (lane / 32),
                        ),
                    };
                    let row = first + r;
                    assert_eq!(kind.unit_of(row, column), lane);
                    let text = kind.describe(Format::Fp32, row, column);
                    assert!(
                        text.ends_with(&format!(": lane {lane}, register {r}")),
                        "{text}"
                    );
                    let text = kind.describe(Format::Bf16, row, column);
                    let halves = format!(": lane {lane}, register {}, half {}", r / 2, r % 2);
                    assert!(text.ends_with(&halves), "{text}");
                }
            }
        }
    }

    /// GPGPU-Sim's tables of where the block of a threadgroup starts; octet X is threadgroups X and
    /// X + 4 (Raihan et al.).
    #[test]
    fn threadgroups_of_volta() {
        let rows = [0, 8, 0, 8, 4, 12, 4, 12];
        let columns = [0, 0, 8, 8, 0, 0, 8, 8];
        for group in 0..8 {
            for (i, j) in [(0, 0), (3, 7), (1, 4)] {
                let (row, column) = (rows[group] + i, columns[group] + j);
                let kind = LayoutKind::Octets;
                assert_eq!(kind.unit_of(row, column), group % 4);
                let text = kind.describe(Format::Fp16, row, column);
                let expected = format!(
                    "octet {}, threadgroup {group}, thread {}",
                    group % 4,
                    4 * group + i
                );
                assert!(text.ends_with(&expected), "{text}");
            }
        }
    }
}
