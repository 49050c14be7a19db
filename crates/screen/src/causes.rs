//! What explains a wrong D that no fault of one place explains: a cause that gives exactly its bits.

use super::ready::Ready;
use super::results::Failure;
use crate::check::MAX_MISMATCHES;
use crate::compose::diagnosis;
use crate::emu::Band;
use crate::io::tree::Hash;
use crate::report::{Comparator, Tolerance};
use crate::tensor::Tensor;

/// The cause of all of a wrong D, as one clause; none if a tile of it was not kept, or nothing explains it.
pub fn cause(ready: &Ready, failure: &Failure) -> Option<String> {
    let mut d = ready.right.clone();
    for tile in &failure.tiles {
        ready.tiles.put(&mut d, tile.index, &tile.bytes()?);
    }
    if Hash::of([&d[..]]) != failure.d_sha256 {
        return None;
    }
    let given = Tensor::from_payload(ready.tiles.format, ready.tiles.shape.to_vec(), d);
    let mut differ = Comparator::new(&given, Tolerance::default(), MAX_MISMATCHES);
    differ.compare(&Band {
        first_row: 0,
        payload: &ready.right,
    });
    let found = differ.conclude();
    let findings = diagnosis(&ready.prepared, &given, &found, 0).findings;
    let all = findings.into_iter().next()?;
    let explained = all.mismatches == found.comparison.mismatches;
    explained.then(|| all.sentence.trim_end_matches('.').to_owned())
}
