//! Main loops, splits, levels inside of a part, and how sums come together.

use serde_json::{Value, json};

use super::{all, blocks, interleaved, merged, promoted, serial, slices};

#[test]
fn of_the_main_loop() {
    let terms = |every: usize, count: usize| json!({"every": every, "hi": "rz", "lo": "rz", "products": vec![["hi", "lo"]; count]});
    all(&[
        (json!({}), ""),
        (json!({"nan": "7f800000"}), "not a NaN of fp32"),
        (json!({"nan": "17fffffff"}), "not a NaN of fp32"),
        (json!({"nan": "ffffffff"}), ""),
        (json!({"tile_k": 0}), "tile_k is 0"),
        (json!({"tile_k": 1}), ""),
        (json!({"tile_k": 1 << 20}), ""),
        (json!({"tile_k": (1 << 20) + 1}), "tile_k is 1048577"),
        (json!({"instruction_k": 0}), "instruction_k is 0"),
        (json!({"instruction_k": 8}), ""),
        (
            json!({"instruction_k": 8, "tile_k": 12}),
            "tile_k is 12; it must be a multiple of instruction_k",
        ),
        (json!({"instruction_k": 8, "tile_k": 16}), ""),
        (json!({"order": [], "tile_k": 4}), "order must list"),
        (json!({"order": [0, 0], "tile_k": 4}), "order must list"),
        (json!({"order": [1, 2], "tile_k": 4}), "order must list"),
        (json!({"order": [1, 0]}), "order needs tile_k"),
        (
            json!({"order": [1, 0], "tile_k": 3}),
            "multiple of the length of order",
        ),
        (json!({"order": [1, 0], "tile_k": 4}), ""),
        (
            json!({"split_terms": terms(8, 1)}),
            "split_terms needs tile_k",
        ),
        (
            json!({"split_terms": terms(0, 1), "tile_k": 16}),
            "split_terms.every is 0",
        ),
        (
            json!({"split_terms": terms(8, 0), "tile_k": 16}),
            "1 to 4 pairs",
        ),
        (
            json!({"split_terms": terms(8, 5), "tile_k": 16}),
            "1 to 4 pairs",
        ),
        (json!({"split_terms": terms(8, 4), "tile_k": 16}), ""),
        (
            json!({"split_terms": terms(8, 1), "tile_k": 12}),
            "multiple of split_terms.every",
        ),
        (
            json!({"split_terms": terms(4, 1), "tile_k": 16, "instruction_k": 8}),
            "split_terms.every is 4; it must be a multiple of instruction_k",
        ),
        (
            json!({"split_terms": terms(8, 1), "tile_k": 16, "instruction_k": 8}),
            "",
        ),
    ]);
}

#[test]
fn of_splits() {
    let split = |parts: Value| json!({"split": serial(parts)});
    let tiled = |parts: Value| json!({"split": serial(parts), "tile_k": 32});
    let tiles = |tile: [usize; 2], groups: Value| json!({"kind": "tiles", "tile": tile, "raster": "along_rows", "groups": groups});
    let whole = json!({"kind": "whole"});
    let shared = |workers: Value| json!({"kind": "shared", "workers": workers});
    let group = |tiles: Value, parts: Value| json!({"tiles": tiles, "parts": parts});
    let one = |parts: Value| tiles([1, 1], json!([group(json!(null), parts)]));
    let ranges = |parts: Value| json!({"kind": "ranges", "parts": parts});
    let by_k = |wide: usize, narrow: usize| json!({"wide": wide, "narrow": narrow});
    all(&[
        (split(whole.clone()), "K is not split"),
        (split(blocks(8)), "blocks are promoted inside"),
        (tiled(shared(json!(3))), "workers share tiles"),
        (
            split(tiles([0, 1], json!([group(json!(null), whole.clone())]))),
            "split.parts.tile is 0",
        ),
        (
            split(tiles([1, 0], json!([group(json!(null), whole.clone())]))),
            "split.parts.tile is 0",
        ),
        (split(tiles([1, 1], json!([]))), "groups is empty"),
        (split(one(whole.clone())), ""),
        (split(one(shared(json!(3)))), "a split needs tile_k"),
        (tiled(one(shared(json!(3)))), ""),
        (tiled(one(shared(json!(null)))), ""),
        (tiled(one(shared(json!(0)))), "workers is 0"),
        (tiled(one(one(whole.clone()))), "cannot contain groups"),
        (
            tiled(one(slices(json!(0), json!(null)))),
            "split.parts.count is 0",
        ),
        (tiled(one(slices(json!(2), json!(null)))), ""),
        (
            split(tiles([1, 1], json!([group(json!(2), whole.clone())]))),
            "every group but the last",
        ),
        (
            split(tiles(
                [1, 1],
                json!([
                    group(json!(null), whole.clone()),
                    group(json!(null), whole.clone())
                ]),
            )),
            "every group but the last",
        ),
        (
            split(tiles(
                [1, 1],
                json!([group(json!(2), whole.clone()), group(json!(null), whole)]),
            )),
            "",
        ),
        (split(ranges(json!([]))), "must be 1 to 1048576 parts"),
        (split(ranges(json!([[[3, 3]]]))), "[3, 3] is empty"),
        (split(ranges(json!([[[4, 3]]]))), "[4, 3] is empty"),
        (
            split(ranges(json!([[[0, 5]], [[4, 8]]]))),
            "k 4 appears twice",
        ),
        (split(ranges(json!([[[4, 8]], [[0, 4]]]))), ""),
        (split(slices(json!(2), json!(null))), "a split needs tile_k"),
        (tiled(slices(json!(2), json!(null))), ""),
        (tiled(slices(json!(null), json!(null))), ""),
        (
            tiled(slices(json!(0), json!(null))),
            "split.parts.count is 0",
        ),
        (split(slices(json!(2), json!(0))), "split.parts.grain is 0"),
        (split(slices(json!(2), json!(5))), ""),
        (
            split(interleaved(json!(2), json!(0))),
            "split.parts.grain is 0",
        ),
        (split(interleaved(json!(2), json!(5))), ""),
        (split(slices(json!(2), by_k(0, 8))), "grain.wide is 0"),
        (split(slices(json!(2), by_k(8, 0))), "grain.narrow is 0"),
        (
            split(slices(json!(2), by_k(12, 8))),
            "multiple of split.parts.grain.narrow",
        ),
        (split(slices(json!(2), by_k(16, 8))), ""),
    ]);
}

#[test]
fn of_levels_inside_of_a_part() {
    let inner = |level: Value| json!({"inner": [level], "tile_k": 32});
    let with = |mut level: Value, name: &str, value: Value| {
        level["merge"][name] = value;
        inner(level)
    };
    let mut ceil_of_floor = slices(json!(2), json!(8));
    ceil_of_floor["length"] = json!("ceil_of_floor");
    let first = |first: usize| json!({"kind": "blocks", "length": 16, "first": first});
    let terms = json!({"every": 8, "hi": "rz", "lo": "rz", "products": [["hi", "hi"]]});
    let of_terms =
        |parts: Value| json!({"inner": [serial(parts)], "tile_k": 32, "split_terms": terms});
    let counts = |outer: usize, inner: usize| {
        json!({
            "split": serial(slices(json!(outer), json!(8))),
            "inner": [serial(slices(json!(inner), json!(8)))],
        })
    };
    all(&[
        (json!({"inner": vec![promoted(8); 4]}), ""),
        (json!({"inner": vec![promoted(8); 5]}), "more than 4 levels"),
        (
            inner(serial(json!({"kind": "whole"}))),
            "its parts must be slices, interleaved or blocks",
        ),
        (
            inner(serial(slices(json!(null), json!(8)))),
            "the number of parts is missing",
        ),
        (
            inner(serial(interleaved(json!(null), json!(8)))),
            "the number of parts is missing",
        ),
        (
            inner(serial(slices(json!(0), json!(8)))),
            "inner.parts.count is 0",
        ),
        (
            inner(serial(ceil_of_floor)),
            "ceil_of_floor is only for a split",
        ),
        (inner(serial(slices(json!(2), json!(12)))), ""),
        (
            inner(serial(interleaved(json!(2), json!(12)))),
            "multiple of inner.parts.grain",
        ),
        (inner(serial(interleaved(json!(2), json!(8)))), ""),
        (inner(serial(blocks(0))), "inner.parts.length is 0"),
        (inner(serial(first(0))), "inner.parts.first is 0"),
        (inner(serial(first(4))), ""),
        (of_terms(blocks(12)), "inner.parts.length is 12"),
        (of_terms(first(4)), "inner.parts.first is 4"),
        (of_terms(first(8)), ""),
        (of_terms(blocks(16)), ""),
        (
            json!({"inner": [{"parts": blocks(8), "merge": {"kind": "in_place"}}]}),
            "only a split is added to D in place",
        ),
        (
            with(promoted(8), "partials", json!("result")),
            "only a split can keep partial sums",
        ),
        (with(promoted(8), "partials", json!("f32")), ""),
        (counts(1024, 1024), ""),
        (counts(1024, 1025), "make 1049600 parts"),
        (counts(1025, 1024), "make 1049600 parts"),
    ]);
}

#[test]
fn of_how_sums_come_together() {
    let lanes = |count: Value, empty: &str| {
        let mut parts = slices(count, json!(8));
        parts["empty"] = json!(empty);
        parts
    };
    let turns =
        |empty: &str| json!({"kind": "interleaved", "count": 4, "grain": 8, "empty": empty});
    let split =
        |parts: Value, order: Value, start: &str| json!({"split": merged(parts, order, start)});
    let butterfly = |parts: Value| split(parts, json!("butterfly"), "first");
    let folds = |to: &[usize]| {
        let folds: Vec<_> = to
            .iter()
            .map(|to| json!({"how": "stride", "to": to}))
            .collect();
        split(lanes(json!(4), "zero"), json!({"folds": folds}), "first")
    };
    let mut rows = vec![
        (butterfly(lanes(json!(4), "zero")), ""),
        (butterfly(lanes(json!(null), "zero")), ""),
        (butterfly(turns("zero")), ""),
        (
            butterfly(lanes(json!(3), "zero")),
            "merge.order is butterfly",
        ),
        (
            butterfly(lanes(json!(4), "skipped")),
            "merge.order is butterfly",
        ),
        (butterfly(turns("skipped")), "merge.order is butterfly"),
        (
            butterfly(json!({"kind": "ranges", "parts": [[[0, 8]]]})),
            "merge.order is butterfly",
        ),
        (folds(&[1]), "2 to 8 folds"),
        (folds(&[2, 1]), ""),
        (folds(&[8, 7, 6, 5, 4, 3, 2, 1]), ""),
        (folds(&[9, 8, 7, 6, 5, 4, 3, 2, 1]), "2 to 8 folds"),
        (folds(&[4, 2]), "the last one to 1"),
        (folds(&[0, 1]), "1 to 4096 sums"),
        (folds(&[4096, 1]), ""),
        (folds(&[4097, 1]), "1 to 4096 sums"),
    ];
    for (order, words) in [
        ("serial", ""),
        ("reverse", ""),
        ("pairwise", "start is zero"),
        ("adjacent", "start is zero"),
    ] {
        rows.push((split(lanes(json!(4), "zero"), json!(order), "zero"), words));
        rows.push((split(lanes(json!(4), "zero"), json!(order), "first"), ""));
    }
    all(&rows);
}
