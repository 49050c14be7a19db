//! One dot product through the engine's steps.

use tcverify::emu::Arithmetic;
use tcverify::num::{Format, Unpacked};

use super::operands::Dot;
use crate::support::exact::Reference;

/// The engine's result, step by step.
pub fn engine(arithmetic: &Arithmetic, dot: &Dot) -> u64 {
    let Dot { a, b, c } = dot;
    let formats = arithmetic.formats();
    let unpack = |format: Format, row: &[u64]| -> Vec<Unpacked> {
        row.iter().map(|&code| format.unpack(code)).collect()
    };
    let (a, b) = (unpack(arithmetic.a, a), unpack(arithmetic.b, b));
    let span = arithmetic.step.span();
    let step = &arithmetic.step;
    let mut carried = step.start(formats, *c);
    for (a, b) in a.chunks(span).zip(b.chunks(span)) {
        step.run(formats, a, b, &mut carried);
    }
    arithmetic.filled_up(dot.a.len(), step.finish(formats, &carried))
}

/// The slow model's.
pub fn slow(arithmetic: &Arithmetic, Dot { a, b, c }: &Dot) -> u64 {
    Reference::of(arithmetic).dot(a, b, *c)
}

pub fn compare(place: &str, arithmetic: &Arithmetic, dot: &Dot) {
    let (fast, slow) = (engine(arithmetic, dot), slow(arithmetic, dot));
    assert_eq!(
        fast, slow,
        "{place}: {fast:x}, not {slow:x}, from {dot:x?}\n{:?}",
        arithmetic.step
    );
}
