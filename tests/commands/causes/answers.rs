//! A bench of answers: random damage of many kinds, of which the truth is known. What is named must be the truth; how
//! often something is named is counted.

use std::collections::BTreeSet;

use serde_json::Value;

use super::folder;
use crate::support::{Folder, Members, say};

const M: usize = 64;
const N: usize = 96;
const K: usize = 256;

/// Numbers that a seed determines.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// One situation: what the request says beside the product, D, and the causes that are true.
struct Case {
    request: String,
    d: Vec<u32>,
    truth: &'static [&'static str],
}

/// Each kind of damage by its name.
const KINDS: [(&str, Make); 41] = [
    ("one bit", |of, draw| {
        let (at, bit) = (draw.below(M * N), 8 + draw.below(24));
        of.damaged(&["bit_flipped"], |d| d[at] ^= 1 << bit)
    }),
    ("the same bit of some elements", |of, draw| {
        let bit = 8 + draw.below(24);
        let all: Vec<_> = (0..6).map(|_| draw.below(M * N)).collect();
        of.damaged(&["bit_flipped"], |d| {
            all.iter().for_each(|at| d[*at] ^= 1 << bit)
        })
    }),
    ("a tile not written", |of, draw| {
        let tile = tile(draw, 16);
        of.damaged(&["unwritten"], |d| tile.iter().for_each(|at| d[*at] = 0))
    }),
    ("a row of one number", |of, draw| {
        let row = draw.below(M);
        of.damaged(&["constant"], |d| {
            d[row * N..][..N].fill(0x4123_4567);
        })
    }),
    ("rows moved", |of, draw| {
        let by = 1 + draw.below(M - 1);
        of.moved(&["row_moved", "rows_permuted"], |i, j| ((i + by) % M, j))
    }),
    ("columns moved", |of, draw| {
        let by = 1 + draw.below(N - 1);
        of.moved(&["column_moved", "columns_permuted"], |i, j| {
            (i, (j + by) % N)
        })
    }),
    ("columns reversed", |of, _| {
        of.moved(&["columns_permuted", "column_moved"], |i, j| (i, N - 1 - j))
    }),
    ("two rows exchanged", |of, draw| {
        let (one, by) = (draw.below(M), 1 + draw.below(M - 1));
        let other = (one + by) % M;
        of.moved(&["rows_permuted", "row_moved", "tile_moved"], |i, j| {
            let from = match i {
                i if i == one => other,
                i if i == other => one,
                i => i,
            };
            (from, j)
        })
    }),
    ("a tile of another place", |of, draw| {
        let (row, column) = (16 * draw.below(M / 16), 16 * draw.below(N / 16));
        let (down, right) = (16 * (1 + draw.below(M / 16 - 1)), 16 * draw.below(N / 16));
        of.moved(&["tile_moved", "row_moved"], |i, j| {
            let inside = (row..row + 16).contains(&i) && (column..column + 16).contains(&j);
            if inside {
                ((i + down) % M, (j + right) % N)
            } else {
                (i, j)
            }
        })
    }),
    ("another unit", |of, draw| {
        let unit = ["volta", "turing", "mi300x", "ieee-fma"][draw.below(4)];
        let truth = &["other_model", "other_model_and_schedule"];
        of.replayed(&format!("--arch {unit} --dtype fp16 a.npy b.npy"), truth)
    }),
    ("slices of K", |of, draw| {
        let parts = 2 + draw.below(3);
        let how = format!(
            "{} --schedule cutlass-splitk-parallel --split-k {parts}",
            of.plain()
        );
        of.replayed(&how, &["other_schedule", "other_model_and_schedule"])
    }),
    ("C left out", |of, _| Case {
        request: format!("{} --c c.npy", of.plain()),
        d: of.right.clone(),
        truth: &["c_omitted"],
    }),
    ("alpha", |of, draw| {
        let alpha = ["0.75", "1.5", "-2", "0.1"][draw.below(4)];
        let how = format!("{} --schedule plain --alpha {alpha}", of.plain());
        of.replayed(&how, &["alpha", "alpha_beta", "epilogue"])
    }),
    ("relu", |of, _| {
        let how = format!("{} --schedule plain --activation relu", of.plain());
        of.replayed(&how, &["relu"])
    }),
    ("numbers of columns added", |of, _| {
        let how = format!("{} --schedule plain --bias bias.npy", of.plain());
        of.replayed(&how, &["bias", "epilogue"])
    }),
    ("a bias left out", |of, _| Case {
        request: format!("{} --schedule plain --bias bias.npy", of.plain()),
        d: of.right.clone(),
        truth: &["setting_ignored"],
    }),
    ("rounded to BF16", |of, _| {
        of.damaged(&["rounded_narrower", "conversion", "rounding"], |d| {
            d.iter_mut()
                .for_each(|x| *x = (*x + 0x7fff + ((*x >> 16) & 1)) & 0xffff_0000)
        })
    }),
    ("a bit of A", |of, draw| {
        let (at, bit) = (draw.below(M * K), 6 + draw.below(8));
        of.with_a(&["input_flipped"], |a| a[at] ^= 1 << bit)
    }),
    ("neighbouring k exchanged", |of, _| {
        of.with_a(&["permuted_k"], |a| {
            a.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1))
        })
    }),
    ("a range of k missing", |of, draw| {
        let from = 16 * draw.below(K / 16);
        let truth = &[
            "slice_missing",
            "step_missing",
            "stopped_early",
            "stale_tile",
        ];
        of.with_a(truth, |a| {
            a.chunks_exact_mut(K)
                .for_each(|row| row[from..from + 16].fill(0))
        })
    }),
    ("clipped", |of, _| {
        of.damaged(&["clipped"], |d| {
            for x in d.iter_mut().filter(|x| f32::from_bits(**x).abs() > 10.0) {
                *x = (*x & 0x8000_0000) | 10f32.to_bits();
            }
        })
    }),
    ("a number of A", |of, draw| {
        let (at, code) = (draw.below(M * K), 0x3c00 + draw.below(0x400) as u16);
        of.with_a(&["input_changed", "input_flipped"], |a| a[at] = code)
    }),
    ("A cut to BF16", |of, _| {
        of.with_a(&["precision"], |a| a.iter_mut().for_each(|x| *x &= !7))
    }),
    ("k of A further on", |of, draw| {
        let by = 1 << draw.below(6);
        of.with_a(&["stale_tile", "operand_layout"], |a| {
            a.chunks_exact_mut(K).for_each(|row| row.rotate_left(by))
        })
    }),
    ("A from another element on", |of, draw| {
        let off = 1 << draw.below(6);
        of.with_a(&["operand_layout"], |a| a.rotate_left(off))
    }),
    ("D from another element on", |of, draw| {
        let off = 1 << draw.below(6);
        of.damaged(&["operand_layout", "column_moved"], |d| d.rotate_right(off))
    }),
    ("blocks of rows exchanged", |of, draw| {
        let rows = [4, 8, 16, 32][draw.below(4)];
        of.moved(&["rows_permuted", "tile_moved", "row_moved"], |i, j| {
            (i ^ rows, j)
        })
    }),
    ("a sigmoid", |of, _| {
        of.each(&["activation"], |x| 1.0 / (1.0 + (-x).exp()))
    }),
    ("a leaky ReLU", |of, draw| {
        let slope = [0.01, 0.1, 0.2][draw.below(3)];
        of.each(&["activation"], |x| if x > 0.0 { x } else { slope * x })
    }),
    ("a soft cap", |of, draw| {
        let cap = [20.0, 30.0, 50.0][draw.below(3)];
        of.each(&["activation"], |x| cap * (x / cap).tanh())
    }),
    ("numbers of rows added", |of, draw| {
        let by = draw.below(1000) as f32 * 0.01 + 0.3;
        of.damaged(&["bias", "epilogue"], |d| {
            for (at, x) in d.iter_mut().enumerate() {
                *x = (f32::from_bits(*x) + ((at / N) as f32 * 0.41 - by)).to_bits();
            }
        })
    }),
    ("C subtracted", |of, _| {
        let mut c = of.folder.codes32("c.npy");
        c.iter_mut().for_each(|x| *x ^= 1 << 31);
        of.folder.f32_codes("other.npy", &[M, N], &c);
        Case {
            request: format!("{} --c c.npy", of.plain()),
            ..of.replayed(
                &format!("{} --c other.npy", of.plain()),
                &["c_otherwise", "alpha_beta"],
            )
        }
    }),
    ("the bias of another column", |of, draw| {
        let by = [1, N - 1][draw.below(2)];
        of.with_bias(|bias| bias.rotate_left(by))
    }),
    ("the bias subtracted", |of, _| {
        of.with_bias(|bias| bias.iter_mut().for_each(|x| *x ^= 1 << 31))
    }),
    ("k exchanged, and numbers of columns added", |of, _| {
        let exchanged = of.with_a(&["bias", "epilogue"], |a| {
            a.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1))
        });
        let mut d = exchanged.d;
        for (at, x) in d.iter_mut().enumerate() {
            *x = (f32::from_bits(*x) + ((at % N) as f32 * 0.37 - 9.0)).to_bits();
        }
        Case { d, ..exchanged }
    }),
    ("another unit, and a ReLU", |of, _| {
        let how = "--arch volta --dtype fp16 --schedule plain --activation relu a.npy b.npy";
        of.replayed(how, &["other_model", "other_model_and_schedule"])
    }),
    ("another unit, and the request names a bias", |of, draw| {
        let unit = ["volta", "mi300x", "ieee-fma"][draw.below(3)];
        let how = format!("--arch {unit} --dtype fp16 --bias bias.npy a.npy b.npy");
        Case {
            request: format!("{} --bias bias.npy", of.plain()),
            ..of.replayed(&how, &["other_model", "other_model_and_schedule"])
        }
    }),
    ("a column one ulp off", |of, draw| {
        let column = draw.below(N);
        of.damaged(&["off_by_ulps"], |d| {
            (0..M).for_each(|i| d[i * N + column] += 1);
        })
    }),
    ("a stale tile of K in some rows", |of, draw| {
        let (rows, first) = (16 * draw.below(M / 16), 32 * (1 + draw.below(K / 32 - 1)));
        of.with_a(&["stale_tile"], |a| {
            for row in a.chunks_exact_mut(K).skip(rows).take(16) {
                row.copy_within(first - 32..first, first);
            }
        })
    }),
    ("noise in some elements", |of, draw| {
        let all: Vec<_> = (0..30)
            .map(|_| (draw.below(M * N), 1 + draw.below(1 << 20) as u32))
            .collect();
        of.damaged(&[], |d| all.iter().for_each(|(at, bits)| d[*at] ^= bits))
    }),
    ("noise in the last bits", |of, draw| {
        let seed = draw.below(1 << 30) as u32;
        of.damaged(&[], |d| {
            for (at, x) in d.iter_mut().enumerate() {
                *x ^= (at as u32 ^ seed).wrapping_mul(2_654_435_761) >> 30;
            }
        })
    }),
];

type Make = fn(&Given, &mut Draw) -> Case;

/// A product, and its right result.
struct Given {
    folder: Folder,
    a: Vec<u16>,
    right: Vec<u32>,
}

impl Given {
    fn new() -> Given {
        let folder = folder("fp16", [M, N, K]);
        let bias: Vec<u32> = (0..N as u32)
            .map(|j| (j as f32 * 0.37 - 9.0).to_bits())
            .collect();
        let bytes = crate::support::le32(&bias);
        folder.save("bias.npy", &crate::support::Npy::new("<f4", &[N], bytes));
        let a = folder.read("a.npy");
        let a = a[a.len() - 2 * M * K..].chunks_exact(2);
        let a = a.map(|w| u16::from_le_bytes([w[0], w[1]])).collect();
        let mut given = Given {
            folder,
            a,
            right: Vec::new(),
        };
        given.right = given.replay(&given.plain());
        given
    }

    fn plain(&self) -> String {
        "--arch a100 --dtype fp16 a.npy b.npy".to_owned()
    }

    fn replay(&self, how: &str) -> Vec<u32> {
        let command = format!("replay {how} -q -o made.npy");
        self.folder.passes(&command);
        self.folder.codes32("made.npy")
    }

    fn damaged(&self, truth: &'static [&'static str], damage: impl Fn(&mut Vec<u32>)) -> Case {
        let mut d = self.right.clone();
        damage(&mut d);
        Case {
            request: self.plain(),
            d,
            truth,
        }
    }

    /// A function of every element.
    fn each(&self, truth: &'static [&'static str], function: impl Fn(f32) -> f32) -> Case {
        self.damaged(truth, |d| {
            for x in d.iter_mut() {
                *x = function(f32::from_bits(*x)).to_bits();
            }
        })
    }

    /// The product with another bias than the one that the request names.
    fn with_bias(&self, change: impl Fn(&mut Vec<u32>)) -> Case {
        let mut bias = self.folder.codes32("bias.npy");
        change(&mut bias);
        let npy = crate::support::Npy::new("<f4", &[N], crate::support::le32(&bias));
        self.folder.save("other.npy", &npy);
        let with = |bias: &str| format!("{} --schedule plain --bias {bias}", self.plain());
        Case {
            request: with("bias.npy"),
            ..self.replayed(&with("other.npy"), &["setting_otherwise", "bias"])
        }
    }

    fn moved(
        &self,
        truth: &'static [&'static str],
        from: impl Fn(usize, usize) -> (usize, usize),
    ) -> Case {
        self.damaged(truth, |d| {
            for (at, x) in d.iter_mut().enumerate() {
                let (i, j) = from(at / N, at % N);
                *x = self.right[i * N + j];
            }
        })
    }

    fn replayed(&self, how: &str, truth: &'static [&'static str]) -> Case {
        Case {
            request: self.plain(),
            d: self.replay(how),
            truth,
        }
    }

    /// The product with another A than the request's.
    fn with_a(&self, truth: &'static [&'static str], change: impl Fn(&mut Vec<u16>)) -> Case {
        let mut a = self.a.clone();
        change(&mut a);
        let npy = crate::support::Npy::new("<f2", &[M, K], crate::support::le16(&a));
        self.folder.save("other.npy", &npy);
        self.replayed("--arch a100 --dtype fp16 other.npy b.npy", truth)
    }
}

/// The elements of a tile.
fn tile(draw: &mut Draw, size: usize) -> Vec<usize> {
    let (row, column) = (size * draw.below(M / size), size * draw.below(N / size));
    let rows = row..row + size;
    rows.flat_map(|i| (column..column + size).map(move |j| i * N + j))
        .collect()
}

/// What the program answers: the kinds of causes.
fn answered(given: &Given, case: &Case) -> Option<BTreeSet<String>> {
    given.folder.f32_codes("d.npy", &[M, N], &case.d);
    let run = given
        .folder
        .tcverify(&format!("check {} d.npy --json -", case.request));
    if run.code == Some(0) {
        return None;
    }
    let report: Value = run.expect(1).json();
    let causes = report.list("causes").iter();
    Some(
        causes
            .map(|cause| cause.string("kind").to_owned())
            .collect(),
    )
}

#[test]
#[ignore = "long"]
fn random_damage_gets_the_true_cause_or_none() {
    const SEEDS: u64 = 6;
    let given = Given::new();
    let (mut found, mut none, mut wrong, mut noise) = (0, 0, Vec::new(), 0);
    for (kind, make) in KINDS {
        let mut of_kind = [0; 2];
        for seed in 0..SEEDS {
            let case = make(&given, &mut Draw(seed * 7919 + 17));
            let Some(causes) = answered(&given, &case) else {
                continue; // the damage changed nothing
            };
            let true_ones = causes
                .iter()
                .all(|cause| case.truth.contains(&cause.as_str()));
            match (causes.is_empty(), true_ones) {
                (true, _) if case.truth.is_empty() => noise += 1,
                (true, _) => (none, of_kind[1]) = (none + 1, of_kind[1] + 1),
                (false, true) => (found, of_kind[0]) = (found + 1, of_kind[0] + 1),
                (false, false) => wrong.push(format!("{kind}, seed {seed}: {causes:?}")),
            }
        }
        let [found, none] = of_kind;
        say(format_args!(
            "answers to {kind}: {found} found, {none} none"
        ));
    }
    say(format_args!(
        "answers: {found} found, {none} none, {} wrong, {noise} of noise without one",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found >= 220, "{found} found, {none} none");
}

type Damage = fn(&mut [u32]);

/// What happens to a D after that: its name, the damage, and the causes that are true.
const AFTERWARDS: [(&str, Damage, &[&str]); 4] = [
    ("a bit", |d| d[37 * N + 71] ^= 1 << 27, &["bit_flipped"]),
    (
        "a tile not written",
        |d| (32..48).for_each(|i| d[i * N + 16..][..16].fill(0)),
        &["unwritten"],
    ),
    (
        "a row of one number",
        |d| d[11 * N..][..N].fill(0x4123_4567),
        &["constant"],
    ),
    (
        "two rows exchanged",
        |d| {
            for j in 0..N {
                d.swap(3 * N + j, 50 * N + j);
            }
        },
        &["rows_permuted", "row_moved", "tile_moved"],
    ),
];

/// Two kinds at once: a cause that is named is one of the two.
#[test]
#[ignore = "long"]
fn two_kinds_of_damage_get_true_causes() {
    let given = Given::new();
    let (mut both, mut one, mut none, mut wrong) = (0, 0, 0, Vec::new());
    for (kind, make) in KINDS {
        for (then, damage, truth) in AFTERWARDS {
            let mut case = make(&given, &mut Draw(4242));
            if case.truth.is_empty() || case.truth == truth {
                continue;
            }
            damage(&mut case.d);
            let Some(causes) = answered(&given, &case) else {
                continue;
            };
            let of = |truth: &[&str]| causes.iter().any(|cause| truth.contains(&cause.as_str()));
            let known = |cause: &String| {
                case.truth.contains(&cause.as_str()) || truth.contains(&cause.as_str())
            };
            match (of(case.truth), of(truth)) {
                _ if !causes.iter().all(known) => {
                    wrong.push(format!("{kind}, then {then}: {causes:?}"));
                }
                (true, true) => both += 1,
                (false, false) => {
                    say(format_args!("answers to {kind}, then {then}: none"));
                    none += 1;
                }
                (first, _) => {
                    let named = if first { kind } else { then };
                    say(format_args!("answers to {kind}, then {then}: only {named}"));
                    one += 1;
                }
            }
        }
    }
    say(format_args!(
        "answers to two at once: {both} both, {one} one, {none} none, {} wrong",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(both >= 110, "{both} both, {one} one, {none} none");
}
