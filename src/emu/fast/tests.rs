//! Every kernel of this machine, and NEON's through its emulation, against the exact engine over
//! every plan of the catalogue. The awkward operands are in `tests/engines`, which cannot see the
//! emulation.

use super::Platform;
use crate::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Within some binades of one.
    Near,
    /// All codes, subnormals and specials among them.
    Any,
    Largest,
    /// The largest in the first half of k, their opposites after.
    Turning,
}

const KINDS: [Kind; 4] = [Kind::Near, Kind::Any, Kind::Largest, Kind::Turning];

fn code(format: Format, kind: Kind, second_half: bool, random: u64) -> u64 {
    match kind {
        Kind::Near if format.is_integer() => random & format.max_code(),
        Kind::Near => {
            let field = (format.bias() - 1) as u64 - random % 3;
            let fraction = random >> 32 & ((1 << format.fraction_bits()) - 1);
            let sign = if random >> 31 & 1 == 1 {
                format.sign_mask()
            } else {
                0
            };
            (field << format.fraction_bits() | fraction) << format.ignored_bits() | sign
        }
        Kind::Any => random & format.max_code(),
        Kind::Largest => format.max_finite(false),
        Kind::Turning => format.max_finite(second_half),
    }
}

fn check(arithmetic: &Arithmetic, kind: Kind, seed: u64) {
    // A rest of rows, of columns in strips of every width, and of k.
    let (m, n, k) = (6, 70, 2 * arithmetic.step.span().max(16) + 3);
    let mut random = SplitMix64(seed);
    let mut matrix =
        |format: Format, rows: usize, columns: usize, at_k: fn(usize, usize) -> usize| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|i| {
                    let second = at_k(i / columns, i % columns) >= k / 2;
                    code(format, kind, second, random.word())
                })
                .collect();
            Tensor::from_codes(format, vec![rows, columns], &codes)
        };
    let a = matrix(arithmetic.a, m, k, |_, column| column);
    let b = matrix(arithmetic.b, k, n, |_, _| 0);
    let c = matrix(arithmetic.accumulator, m, n, |_, _| 0);
    for c in [None, Some(c.planes())] {
        let replay = |engine| Replay {
            problem: Problem::new(a.planes(), b.planes(), c).expect("the shapes fit"),
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        let expected = replay(Engine::Exact).collect(&|_| {});
        for platform in Platform::available() {
            let fast = replay(Engine::Fast(platform));
            let found = fast.collect(&|_| {});
            let name = platform.name();
            assert!(
                found.as_payload() == expected.as_payload(),
                "{name} {kind:?} {seed} {}",
                arithmetic.canonical_json()
            );
            if let (Kind::Near, None) = (kind, c) {
                assert_eq!(fast.exact_share().exact, 0, "{name} computed it");
            }
        }
    }
}

#[test]
fn kernels_are_the_exact_engine() {
    let mut known: Vec<Arithmetic> = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for rule in architecture.instructions.iter().flat_map(|i| &i.rules) {
            let arithmetic = Arithmetic::of(rule, rule.operands[0]);
            // Scales only change what is packed; tests/systems compares that.
            if known.contains(&arithmetic) || arithmetic.scale.is_some() {
                continue;
            }
            // C and D of different formats: only one step.
            let long = arithmetic.longest_k().is_none();
            if long && arithmetic.plan().is_some() {
                for kind in KINDS {
                    check(&arithmetic, kind, known.len() as u64);
                }
            }
            known.push(arithmetic);
        }
    }
}
