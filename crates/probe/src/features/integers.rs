//! The table of integers. One function a row.

use super::{Answers, Row};

pub(super) const ROWS: [Row; 6] = [
    ("products", "products", products),
    ("sums", "sums of products", sums),
    ("range", "numbers of C and D", range),
    ("overflow", "sums beyond them", overflow),
    ("group", "products added at once", group),
    ("order", "order of the addition", order),
];

const TOP: i64 = i32::MAX as i64;

fn all_of(x: &Answers, name: &'static str) -> Vec<(i32, i32, i64)> {
    let all = x.all(name).into_iter();
    all.map(|(i, j, d)| (i, j, x.format().integer(d))).collect()
}

fn products(x: &Answers) -> Option<String> {
    let all = all_of(x, "product");
    let wrong = all
        .iter()
        .filter(|(product, _, d)| i64::from(*product) != *d);
    Some(match (wrong.count(), all.len()) {
        (_, 0) => return None,
        (0, _) => "exact".into(),
        (wrong, all) => format!("wrong in {wrong} of {all} cases"),
    })
}

/// The sums of equal products that are right, and the first that is not.
fn sums(x: &Answers) -> Option<String> {
    let sums = all_of(x, "sum").into_iter();
    let sums = sums.filter(|(_, n, _)| *n > 0);
    let mut sums: Vec<_> = sums
        .map(|(product, n, d)| (i64::from(product) * i64::from(n), d))
        .collect();
    sums.sort_by_key(|(sum, _)| sum.abs());
    let (last, _) = sums.last()?;
    Some(match sums.iter().find(|(sum, d)| sum != d) {
        None => format!("exact up to {}", last.abs()),
        Some((sum, d)) => format!("{d} for {sum}"),
    })
}

fn range(x: &Answers) -> Option<String> {
    let ends = [1, 0].map(|end| x.get("alone", end, 0).map(|d| x.format().integer(d)));
    let [least, greatest] = ends;
    Some(format!("{} to {}", least?, greatest?))
}

fn overflow(x: &Answers) -> Option<String> {
    // One beyond the limit, by a product of 1.
    let beyond = |side| x.get("beyond", side, 11).map(|d| x.format().integer(d));
    let text = |d: i64, limit: i64, other: i64| match d {
        d if d == limit => "saturate".to_owned(),
        d if d == other => "wrap".to_owned(),
        d => format!("{limit} and 1 more: {d}"),
    };
    let bottom = i64::from(i32::MIN);
    let above = text(beyond(0)?, TOP, bottom);
    Some(match beyond(1).map(|d| text(d, bottom, TOP)) {
        Some(below) if below != above => format!("{above} above, {below} below"),
        _ => above,
    })
}

/// For pairs of places, whether the product that leads out of the range and the one that leads back were added apart.
fn apart(x: &Answers, name: &'static str) -> Option<Vec<(i32, i32, bool)>> {
    let pairs = all_of(x, name).into_iter();
    let pairs = pairs.map(|(i, j, d)| match TOP - d {
        3 => Some((i, j, true)),
        1 => Some((i, j, false)),
        _ => None,
    });
    pairs.collect()
}

/// The size of consecutive groups, if pairs are apart just where such groups separate them.
fn groups(pairs: &[(i32, i32, bool)]) -> Option<i32> {
    let parted = pairs.iter().filter(|(i, _, apart)| *i == 0 && *apart);
    let size = parted.map(|(_, j, _)| *j).min()?;
    let fits = |&(i, j, apart): &(i32, i32, bool)| apart == (i / size != j / size);
    pairs.iter().all(fits).then_some(size)
}

fn group(x: &Answers) -> Option<String> {
    let names = ["pair", "pair-back-first"];
    let group = names.into_iter().find_map(|name| groups(&apart(x, name)?));
    group.map(|size| size.to_string())
}

fn order(x: &Answers) -> Option<String> {
    // Sums that wrap around show no order, nor do formats without negative products.
    if overflow(x)? != "saturate" || x.all("pair").is_empty() {
        return None;
    }
    let (forth, back) = (apart(x, "pair"), apart(x, "pair-back-first"));
    let none = |pairs: &[(i32, i32, bool)]| pairs.iter().all(|(.., apart)| !apart);
    Some(
        match (forth, back) {
            (Some(forth), Some(back)) if none(&forth) && none(&back) => "none shows",
            (Some(forth), Some(back)) if none(&back) && groups(&forth).is_some() => "ascending",
            (Some(forth), Some(back)) if none(&forth) && groups(&back).is_some() => "descending",
            _ => "another",
        }
        .into(),
    )
}
