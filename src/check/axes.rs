//! The axes of operands, as NumPy's `matmul` takes them.
//!
//! A vector A is a row, a vector B is a column, and leading axes of one of B are as if they were not there. C and D
//! may lack the axes that vectors lack, and may have leading axes of one; a 1x1 D may be one number.

use crate::role::Role;
use crate::tensor::same_longer_axes;

/// The axes that A, B and C have in a product of arrays of these shapes, of which some are stored transposed; none if a
/// single number is among them.
pub fn matmul_axes(
    [a, b]: [&[usize]; 2],
    [transpose_a, transpose_b]: [bool; 2],
) -> Option<[(Role, Vec<usize>); 3]> {
    let matrix = |shape: &[usize], is_row: bool| match *shape {
        [] => None,
        [k] if is_row => Some(vec![1, k]),
        [k] => Some(vec![k, 1]),
        _ => Some(shape.to_vec()),
    };
    let a = matrix(a, !transpose_a)?;
    let mut b = matrix(b, transpose_b)?;
    let (batch, of_a) = a.split_at(a.len() - 2);
    let of_b = &b[..b.len() - 2];
    if batch != of_b && of_b.iter().all(|&n| n == 1) {
        b.drain(..of_b.len());
    }
    let of_b = &b[b.len() - 2..];
    let c = [
        of_a[usize::from(transpose_a)],
        of_b[usize::from(!transpose_b)],
    ];
    let c = [batch, &c].concat();
    Some([(Role::A, a), (Role::B, b), (Role::C, c)])
}

/// Whether an array of one shape is taken as one of the other: axes of one come and go, but rows stay rows.
pub fn takes_axes(have: &[usize], want: &[usize]) -> bool {
    same_longer_axes(have, want) && (have.len() < 2 || have.last() == want.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_as_numpy_takes_them() {
        let axes = |a: &[usize], b: &[usize], transpose| {
            matmul_axes([a, b], transpose).map(|axes| axes.map(|(_, axes)| axes))
        };
        let own = [false, false];
        for (a, b, transpose, [of_a, of_b, of_c]) in [
            (
                &[7][..],
                &[7, 2][..],
                own,
                [&[1, 7][..], &[7, 2][..], &[1, 2][..]],
            ),
            (&[3, 7], &[7], own, [&[3, 7], &[7, 1], &[3, 1]]),
            (&[7], &[7], own, [&[1, 7], &[7, 1], &[1, 1]]),
            (&[7], &[7], [true, true], [&[7, 1], &[1, 7], &[1, 1]]),
            (&[7, 3], &[2, 7], [true, true], [&[7, 3], &[2, 7], &[3, 2]]),
            (
                &[5, 3, 7],
                &[1, 7, 2],
                own,
                [&[5, 3, 7], &[7, 2], &[5, 3, 2]],
            ),
            (
                &[1, 3, 7],
                &[1, 7, 2],
                own,
                [&[1, 3, 7], &[1, 7, 2], &[1, 3, 2]],
            ),
            (&[5, 3, 7], &[7], own, [&[5, 3, 7], &[7, 1], &[5, 3, 1]]),
        ] {
            let wanted = [of_a, of_b, of_c].map(<[usize]>::to_vec);
            assert_eq!(
                axes(a, b, transpose),
                Some(wanted),
                "{a:?} {b:?} {transpose:?}"
            );
        }
        assert_eq!(axes(&[], &[7, 2], own), None);
        assert_eq!(axes(&[7], &[], own), None);
    }

    #[test]
    fn what_a_d_may_look_like() {
        for (have, want, taken) in [
            (&[2][..], &[1, 2][..], true),
            (&[2], &[2, 1], true),
            (&[], &[1, 1], true),
            (&[1, 1, 3, 2], &[3, 2], true),
            (&[3, 2], &[1, 3, 2], true),
            (&[2, 1], &[1, 2], false),
            (&[2, 3], &[3, 2], false),
            (&[6], &[3, 2], false),
            (&[3], &[3, 2], false),
        ] {
            assert_eq!(takes_axes(have, want), taken, "{have:?} {want:?}");
        }
    }
}
