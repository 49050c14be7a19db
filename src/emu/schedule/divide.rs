//! Which k or places each part of a level has.

use std::ops::Range;

use super::{Cut, Empty, Grain, Parts, SliceLength};

/// A part, as ranges of the places that are divided.
pub type Part = Vec<Range<usize>>;

/// The parts of `length` k or places. `tile_k` is the grain where none is given.
///
/// # Errors
/// A constant that is still open, or does not fit this length.
pub fn divide(parts: &Parts, length: usize, tile_k: Option<usize>) -> Result<Vec<Part>, String> {
    let grain = |grain: Option<Grain>| match grain {
        Some(grain) => grain.of(length),
        None => tile_k.unwrap_or(1),
    };
    match parts {
        Parts::Whole {} => Ok(vec![part(0..length)]),
        Parts::Slices {
            count,
            grain: of,
            length: how,
            empty,
        } => {
            let slices = slices(length, known(*count)?, grain(*of), *how)?;
            Ok(kept(slices, *empty))
        }
        Parts::Interleaved {
            count,
            grain: of,
            empty,
        } => {
            let (count, grain) = (known(*count)?, grain(*of));
            let mut all = vec![Part::new(); count];
            for (i, start) in (0..length).step_by(grain).enumerate() {
                extend(&mut all[i % count], start..(start + grain).min(length));
            }
            Ok(kept(all, *empty))
        }
        Parts::Blocks {
            length: every,
            first,
        } => {
            let mut blocks = Vec::new();
            let mut start = 0;
            while start < length {
                let this = match first {
                    Some(first) if start == 0 => *first,
                    _ => *every,
                };
                let end = (start + this).min(length);
                blocks.push(part(start..end));
                start = end;
            }
            Ok(blocks)
        }
        Parts::Leaves {
            length: longest,
            cut,
        } => {
            let mut leaves = Vec::new();
            match cut {
                Cut::Halves => halves(0..length, *longest, &mut leaves),
                Cut::Blocks if !length.is_multiple_of(*longest) => {
                    return Err(format!(
                        "K is {length}; it must be a multiple of a leaf of {longest} k"
                    ));
                }
                Cut::Blocks => {
                    let starts = (0..length).step_by(*longest);
                    leaves.extend(starts.map(|start| part(start..start + longest)));
                }
                Cut::BlocksThenHalves => {
                    let mut start = 0;
                    while start < length {
                        let left = length - start;
                        let half = left > *longest && left < 2 * longest;
                        let end = start + left.div_ceil(1 + usize::from(half)).min(*longest);
                        leaves.push(part(start..end));
                        start = end;
                    }
                }
            }
            Ok(leaves)
        }
        Parts::Ranges { parts } => {
            let last = parts.iter().flatten().map(|range| range[1]).max();
            if let Some(last) = last.filter(|&last| last > length) {
                return Err(format!(
                    "split.parts goes up to k {last}, but K is {length}"
                ));
            }
            let ranges = |part: &Vec<[usize; 2]>| {
                let mut ranges = Part::new();
                part.iter()
                    .for_each(|&[start, end]| extend(&mut ranges, start..end));
                ranges
            };
            Ok(parts.iter().map(ranges).collect())
        }
        Parts::Shared { .. } | Parts::Tiles { .. } => {
            unreachable!("resolved for a tile of D beforehand")
        }
    }
}

/// Halves of halves, none longer than this.
fn halves(of: Range<usize>, longest: usize, leaves: &mut Vec<Part>) {
    if of.len() <= longest {
        leaves.push(part(of));
        return;
    }
    let middle = of.start + of.len() / 2;
    halves(of.start..middle, longest, leaves);
    halves(middle..of.end, longest, leaves);
}

/// The ranges that no part has.
pub fn omitted(parts: &[Part], length: usize) -> Part {
    let mut all: Vec<Range<usize>> = parts.iter().flatten().cloned().collect();
    all.sort_unstable_by_key(|range| range.start);
    let mut gaps = Part::new();
    let mut next = 0;
    for range in all {
        if range.start > next {
            gaps.push(next..range.start);
        }
        next = next.max(range.end);
    }
    gaps.extend((next < length).then_some(next..length));
    gaps
}

fn known(count: Option<usize>) -> Result<usize, String> {
    count.ok_or_else(|| "the number of slices of K is missing; see `split_k`".into())
}

/// One range, or nothing.
pub fn part(range: Range<usize>) -> Part {
    if range.is_empty() {
        Part::new()
    } else {
        vec![range]
    }
}

/// Neighbouring ranges, none of them empty, are one.
fn extend(part: &mut Part, range: Range<usize>) {
    match part.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => part.push(range),
    }
}

fn kept(mut parts: Vec<Part>, empty: Empty) -> Vec<Part> {
    if empty == Empty::Skipped {
        parts.retain(|part| !part.is_empty());
    }
    parts
}

fn slices(
    length: usize,
    count: usize,
    grain: usize,
    how: SliceLength,
) -> Result<Vec<Part>, String> {
    let whole = length / grain;
    let end = |i: usize| match how {
        SliceLength::Ceil => length.div_ceil(grain).div_ceil(count) * grain * i,
        SliceLength::CeilOfFloor => (length / count).div_ceil(grain) * grain * i,
        SliceLength::Floor | SliceLength::Balanced if i == count => length,
        SliceLength::Floor => whole / count * grain * i,
        SliceLength::Balanced => (whole / count * i + i.min(whole % count)) * grain,
    };
    if how == SliceLength::CeilOfFloor && length < count {
        return Err(format!(
            "K is {length}, fewer than the {count} slices of the split"
        ));
    }
    let slice = |i: usize| part(end(i).min(length)..end(i + 1).min(length));
    Ok((0..count).map(slice).collect())
}
