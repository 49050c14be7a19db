//! A bench of answers: random damage of many kinds, of which the truth is known. What is named must be the truth; how
//! often something is named is counted.

use std::collections::BTreeSet;

use super::folder;
use crate::support::{Folder, Members, listed, say, table};

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

/// One situation: what the request says beside the product, and D.
struct Case {
    request: String,
    d: Vec<u32>,
}

/// Each kind of damage by its name, the causes that are true of it, and how it is made.
const KINDS: [(&str, &str, Make); 41] = table! {
    ("one bit", "bit_flipped", |of, draw| {
        of.damaged((draw.below(M * N), 8 + draw.below(24)), |d, (at, bit)| d[at] ^= 1 << bit)
    }),
    ("the same bit of some elements", "bit_flipped", |of, draw| {
        let bit = 8 + draw.below(24);
        of.damaged([(); 6].map(|()| draw.below(M * N)), |d, all| all.iter().for_each(|at| d[*at] ^= 1 << bit))
    }),
    ("a tile not written", "unwritten", |of, draw| {
        of.damaged(tile(draw, 16), |d, tile| tile.iter().for_each(|at| d[*at] = 0))
    }),
    ("a row of one number", "constant", |of, draw| {
        of.damaged(draw.below(M), |d, row| d[row * N..][..N].fill(0x4123_4567))
    }),
    ("rows moved", "row_moved | rows_permuted", |of, draw| {
        of.moved(1 + draw.below(M - 1), |by, i, j| ((i + by) % M, j))
    }),
    ("columns moved", "column_moved | columns_permuted", |of, draw| {
        of.moved(1 + draw.below(N - 1), |by, i, j| (i, (j + by) % N))
    }),
    ("columns reversed", "columns_permuted | column_moved", |of, _| of.moved((), |(), i, j| (i, N - 1 - j))),
    ("two rows exchanged", "rows_permuted | row_moved | tile_moved", |of, draw| {
        let (one, by) = (draw.below(M), 1 + draw.below(M - 1));
        of.moved((one + by) % M, |other, i, j| (if i == one { other } else if i == other { one } else { i }, j))
    }),
    ("a tile of another place", "tile_moved | row_moved", |of, draw| {
        let (row, column) = (16 * draw.below(M / 16), 16 * draw.below(N / 16));
        let (down, right) = (16 * (1 + draw.below(M / 16 - 1)), 16 * draw.below(N / 16));
        let inside = |i, j| (row..row + 16).contains(&i) && (column..column + 16).contains(&j);
        of.moved((), |(), i, j| if inside(i, j) { ((i + down) % M, (j + right) % N) } else { (i, j) })
    }),
    ("another unit", "other_model | other_model_and_schedule", |of, draw| {
        let unit = ["volta", "turing", "mi300x", "ieee-fma"][draw.below(4)];
        of.replayed(&format!("--arch {unit} --dtype fp16 a.npy b.npy"))
    }),
    ("slices of K", "other_schedule | other_model_and_schedule", |of, draw| {
        of.replayed(&format!("{PLAIN} --schedule cutlass-splitk-parallel --split-k {}", 2 + draw.below(3)))
    }),
    ("C left out", "c_omitted", |of, _| of.right(&format!("{PLAIN} --c c.npy"))),
    ("alpha", "alpha | alpha_beta | epilogue", |of, draw| {
        of.replayed(&format!("{PLAIN} --schedule plain --alpha {}", ["0.75", "1.5", "-2", "0.1"][draw.below(4)]))
    }),
    ("relu", "relu", |of, _| of.replayed(&format!("{PLAIN} --schedule plain --activation relu"))),
    ("numbers of columns added", "bias | epilogue", |of, _| of.replayed(&with_bias("bias.npy"))),
    ("a bias left out", "setting_ignored", |of, _| of.right(&with_bias("bias.npy"))),
    ("rounded to BF16", "rounded_narrower | conversion | rounding", |of, _| {
        of.codes((), |(), x, _| (x + 0x7fff + ((x >> 16) & 1)) & 0xffff_0000)
    }),
    ("a bit of A", "input_flipped", |of, draw| {
        of.with_a((draw.below(M * K), 6 + draw.below(8)), |a, (at, bit)| a[at] ^= 1 << bit)
    }),
    ("neighbouring k exchanged", "permuted_k", |of, _| of.with_a((), |a, ()| exchange(a))),
    ("a range of k missing", "slice_missing | step_missing | stopped_early | stale_tile", |of, draw| {
        of.with_a(16 * draw.below(K / 16), |a, from| a.chunks_exact_mut(K).for_each(|row| row[from..from + 16].fill(0)))
    }),
    ("clipped", "clipped", |of, _| of.each((), |(), x| x.clamp(-10.0, 10.0))),
    ("a number of A", "input_changed | input_flipped", |of, draw| {
        of.with_a((draw.below(M * K), 0x3c00 + draw.below(0x400) as u16), |a, (at, code)| a[at] = code)
    }),
    ("A cut to BF16", "precision", |of, _| of.with_a((), |a, ()| a.iter_mut().for_each(|x| *x &= !7))),
    ("k of A further on", "stale_tile | operand_layout", |of, draw| {
        of.with_a(1 << draw.below(6), |a, by| a.chunks_exact_mut(K).for_each(|row| row.rotate_left(by)))
    }),
    ("A from another element on", "operand_layout", |of, draw| of.with_a(1 << draw.below(6), |a, off| a.rotate_left(off))),
    ("D from another element on", "operand_layout | column_moved", |of, draw| {
        of.damaged(1 << draw.below(6), |d, off| d.rotate_right(off))
    }),
    ("blocks of rows exchanged", "rows_permuted | tile_moved | row_moved", |of, draw| {
        of.moved([4, 8, 16, 32][draw.below(4)], |rows, i, j| (i ^ rows, j))
    }),
    ("a sigmoid", "activation", |of, _| of.each((), |(), x| 1.0 / (1.0 + (-x).exp()))),
    ("a leaky ReLU", "activation", |of, draw| {
        of.each([0.01, 0.1, 0.2][draw.below(3)], |slope, x| if x > 0.0 { x } else { slope * x })
    }),
    ("a soft cap", "activation", |of, draw| {
        of.each([20.0, 30.0, 50.0][draw.below(3)], |cap, x| cap * (x / cap).tanh())
    }),
    ("numbers of rows added", "bias | epilogue", |of, draw| {
        let by = draw.below(1000) as f32 * 0.01 + 0.3;
        of.codes(by, |by, x, at| (f32::from_bits(x) + ((at / N) as f32 * 0.41 - by)).to_bits())
    }),
    ("C subtracted", "c_otherwise | alpha_beta", |of, _| {
        let minus = |c: &mut Vec<u32>| c.iter_mut().for_each(|x| *x ^= 1 << 31);
        of.folder.with_codes32("c.npy", "other.npy", minus);
        of.asked(&format!("{PLAIN} --c c.npy"), &format!("{PLAIN} --c other.npy"))
    }),
    ("the bias of another column", "setting_otherwise | bias", |of, draw| {
        of.with_bias([1, N - 1][draw.below(2)], |bias, by| bias.rotate_left(by))
    }),
    ("the bias subtracted", "setting_otherwise | bias", |of, _| {
        of.with_bias((), |bias, ()| bias.iter_mut().for_each(|x| *x ^= 1 << 31))
    }),
    ("k exchanged, and numbers of columns added", "bias | epilogue", |of, _| {
        let mut case = of.with_a((), |a, ()| exchange(a));
        for (at, x) in case.d.iter_mut().enumerate() {
            *x = (f32::from_bits(*x) + ((at % N) as f32 * 0.37 - 9.0)).to_bits();
        }
        case
    }),
    ("another unit, and a ReLU", "other_model | other_model_and_schedule", |of, _| {
        of.replayed("--arch volta --dtype fp16 --schedule plain --activation relu a.npy b.npy")
    }),
    ("another unit, and the request names a bias", "other_model | other_model_and_schedule", |of, draw| {
        let unit = ["volta", "mi300x", "ieee-fma"][draw.below(3)];
        let how = format!("--arch {unit} --dtype fp16 --bias bias.npy a.npy b.npy");
        of.asked(&format!("{PLAIN} --bias bias.npy"), &how)
    }),
    ("a column one ulp off", "off_by_ulps", |of, draw| {
        of.damaged(draw.below(N), |d, column| (0..M).for_each(|i| d[i * N + column] += 1))
    }),
    ("a stale tile of K in some rows", "stale_tile", |of, draw| {
        let (rows, first) = (16 * draw.below(M / 16), 32 * (1 + draw.below(K / 32 - 1)));
        of.with_a(first, |a, first| {
            let rows = a.chunks_exact_mut(K).skip(rows).take(16);
            rows.for_each(|row| row.copy_within(first - 32..first, first));
        })
    }),
    ("noise in some elements", "", |of, draw| {
        let all = [(); 30].map(|()| (draw.below(M * N), 1 + draw.below(1 << 20) as u32));
        of.damaged(all, |d, all| all.iter().for_each(|(at, bits)| d[*at] ^= bits))
    }),
    ("noise in the last bits", "", |of, draw| {
        let seed = draw.below(1 << 30) as u32;
        of.codes(seed, |seed, x, at| x ^ ((at as u32 ^ seed).wrapping_mul(2_654_435_761) >> 30))
    }),
};

type Make = fn(&Given, &mut Draw) -> Case;

const PLAIN: &str = "--arch a100 --dtype fp16 a.npy b.npy";

fn with_bias(bias: &str) -> String {
    format!("{PLAIN} --schedule plain --bias {bias}")
}

/// Exchanges neighbouring k.
fn exchange(a: &mut [u16]) {
    a.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
}

/// A product, and its right result.
struct Given {
    folder: Folder,
    right: Vec<u32>,
}

impl Given {
    fn new() -> Given {
        let folder = folder("fp16", [M, N, K]);
        let bias: Vec<f32> = (0..N).map(|j| j as f32 * 0.37 - 9.0).collect();
        folder.f32("bias.npy", &[N], &bias);
        folder.replay(PLAIN, "made.npy");
        let right = folder.codes32("made.npy");
        Given { folder, right }
    }

    /// The right D, whatever is asked.
    fn right(&self, request: &str) -> Case {
        let (request, d) = (request.to_owned(), self.right.clone());
        Case { request, d }
    }

    /// What one way of computing gives whoever asks for another.
    fn asked(&self, request: &str, how: &str) -> Case {
        self.folder.replay(how, "made.npy");
        let (request, d) = (request.to_owned(), self.folder.codes32("made.npy"));
        Case { request, d }
    }

    fn replayed(&self, how: &str) -> Case {
        self.asked(PLAIN, how)
    }

    /// The right D, damaged as was drawn.
    fn damaged<P>(&self, drawn: P, damage: impl Fn(&mut Vec<u32>, P)) -> Case {
        let mut case = self.right(PLAIN);
        damage(&mut case.d, drawn);
        case
    }

    /// Another code for every code and its place.
    fn codes<P: Copy>(&self, drawn: P, code: impl Fn(P, u32, usize) -> u32) -> Case {
        self.damaged(drawn, |d, drawn| {
            let all = d.iter_mut().enumerate();
            all.for_each(|(at, x)| *x = code(drawn, *x, at));
        })
    }

    /// A function of every element.
    fn each<P: Copy>(&self, drawn: P, function: impl Fn(P, f32) -> f32) -> Case {
        let code = |drawn, x, _| function(drawn, f32::from_bits(x)).to_bits();
        self.codes(drawn, code)
    }

    fn moved<P: Copy>(&self, drawn: P, from: impl Fn(P, usize, usize) -> (usize, usize)) -> Case {
        self.codes(drawn, |drawn, _, at| {
            let (i, j) = from(drawn, at / N, at % N);
            self.right[i * N + j]
        })
    }

    /// The product with another bias than the one that the request names.
    fn with_bias<P>(&self, drawn: P, change: impl FnOnce(&mut Vec<u32>, P)) -> Case {
        let change = |bias: &mut Vec<u32>| change(bias, drawn);
        self.folder.with_codes32("bias.npy", "other.npy", change);
        self.asked(&with_bias("bias.npy"), &with_bias("other.npy"))
    }

    /// The product with another A than the request's.
    fn with_a<P>(&self, drawn: P, change: impl FnOnce(&mut Vec<u16>, P)) -> Case {
        let change = |a: &mut Vec<u16>| change(a, drawn);
        self.folder.with_codes16("a.npy", "other.npy", change);
        self.replayed("--arch a100 --dtype fp16 other.npy b.npy")
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
    let Given { folder, .. } = given;
    folder.f32_codes("d.npy", &[M, N], &case.d);
    let run = folder.tcverify(&format!("check {} d.npy --json -", case.request));
    if run.code == Some(0) {
        return None;
    }
    let report = run.expect(1).json();
    let causes = report.list("causes").iter();
    Some(causes.map(|cause| cause.string("kind").into()).collect())
}

#[test]
#[ignore = "long"]
fn random_damage_gets_the_true_cause_or_none() {
    const SEEDS: u64 = 6;
    let given = Given::new();
    let (mut found, mut none, mut wrong, mut noise) = (0, 0, Vec::new(), 0);
    for (kind, truth, make) in KINDS {
        let truth = listed(truth);
        let mut of_kind = [0; 2];
        for seed in 0..SEEDS {
            let case = make(&given, &mut Draw(seed * 7919 + 17));
            let Some(causes) = answered(&given, &case) else {
                continue; // the damage changed nothing
            };
            let true_ones = causes.iter().all(|cause| truth.contains(&cause.as_str()));
            match (causes.is_empty(), true_ones) {
                (true, _) if truth == [""] => noise += 1,
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

/// What happens to a D after that: its name, the causes that are true, and the damage.
const AFTERWARDS: [(&str, &str, Damage); 4] = table! {
    ("a bit", "bit_flipped", |d| d[37 * N + 71] ^= 1 << 27),
    ("a tile not written", "unwritten", |d| (32..48).for_each(|i| d[i * N + 16..][..16].fill(0))),
    ("a row of one number", "constant", |d| d[11 * N..][..N].fill(0x4123_4567)),
    ("two rows exchanged", "rows_permuted | row_moved | tile_moved",
        |d| (0..N).for_each(|j| d.swap(3 * N + j, 50 * N + j))),
};

/// Two kinds at once: a cause that is named is one of the two.
#[test]
#[ignore = "long"]
fn two_kinds_of_damage_get_true_causes() {
    let given = Given::new();
    let (mut both, mut one, mut none, mut wrong) = (0, 0, 0, Vec::new());
    for (kind, first, make) in KINDS {
        for (then, second, damage) in AFTERWARDS {
            let mut case = make(&given, &mut Draw(4242));
            if first.is_empty() || first == second {
                continue;
            }
            damage(&mut case.d);
            let Some(causes) = answered(&given, &case) else {
                continue;
            };
            let is = |cause: &String, truth| listed(truth).contains(&cause.as_str());
            let of = |truth| causes.iter().any(|cause| is(cause, truth));
            let known = |cause: &String| is(cause, first) || is(cause, second);
            match (of(first), of(second)) {
                _ if !causes.iter().all(known) => {
                    wrong.push(format!("{kind}, then {then}: {causes:?}"));
                }
                (true, true) => both += 1,
                (false, false) => {
                    say(format_args!("answers to {kind}, then {then}: none"));
                    none += 1;
                }
                (is_first, _) => {
                    let named = if is_first { kind } else { then };
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
