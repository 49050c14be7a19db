//! Specs, overrides, tiles, parts and scales.

use serde_json::json;

use super::*;
use crate::Problem;
use crate::num::Format;
use crate::tensor::Tensor;

/// A schedule of these fields, those that must be there among them.
fn spec(fields: &serde_json::Value) -> ScheduleSpec {
    let mut whole = json!({
        "residue": "last", "addend": "start", "epilogue": {"combine": "fma"}, "nan": "7fffffff"
    });
    let fields = fields.as_object().expect("fields").clone();
    whole.as_object_mut().expect("fields").extend(fields);
    let spec: ScheduleSpec = serde_json::from_value(whole).expect("a spec");
    spec.validate().expect("what a kernel can follow");
    spec
}

/// A spec survives JSON, and another constant gives another digest.
#[test]
fn specs_are_written_whole() {
    let fields = [
        json!({}),
        json!({"epilogue": {"combine": "separate"}}),
        json!({"epilogue": {"combine": "fma", "without_c": "add_zero"}}),
        json!({"epilogue": {"combine": "fma", "function": "relu"}}),
        json!({"tile_k": 64}),
        json!({"zero_point": "per_row"}),
        json!({"without_products": "zero"}),
    ];
    let specs = fields.map(|fields| spec(&fields));
    for (i, one) in specs.iter().enumerate() {
        let again: ScheduleSpec = serde_json::from_str(&one.canonical_json()).expect("a spec");
        assert_eq!(again, *one);
        for other in &specs[..i] {
            assert_ne!(one.sha256(), other.sha256(), "{one:?} and {other:?}");
        }
    }
    assert!(!specs[1].canonical_json().contains("without_c"));
}

/// Overrides with a schedule's own constants are left out; others stay.
#[test]
fn own_constants_are_forgotten() {
    let schedule = Schedule::preset("cutlass-sm90").expect("a preset");
    assert_eq!(
        (schedule.spec.tile_k, schedule.spec.residue),
        (Some(64), Residue::Last)
    );
    let overrides = |tile_k, residue, split_k| Overrides {
        tile_k,
        residue,
        split_k,
        ..Overrides::default()
    };
    use ResidueChoice::{First, Last};
    for (given, left) in [
        (
            overrides(Some(64), Some(Last), None),
            overrides(None, None, None),
        ),
        (
            overrides(Some(32), Some(Last), None),
            overrides(Some(32), None, None),
        ),
        (
            overrides(Some(64), Some(First), None),
            overrides(None, Some(First), None),
        ),
        (
            overrides(Some(32), Some(First), None),
            overrides(Some(32), Some(First), None),
        ),
        // This schedule does not split K: that override stays, and is refused when it is applied.
        (
            overrides(Some(64), Some(Last), Some(3)),
            overrides(None, None, Some(3)),
        ),
    ] {
        let mut found = given.clone();
        found.forget_own(schedule);
        assert_eq!(found, left, "{given}");
    }
    // Where nothing has tiles, no tile is the partial one.
    let plain = Schedule::preset("plain").expect("a preset");
    let mut found = overrides(None, Some(First), None);
    found.forget_own(plain);
    assert_eq!(found, Overrides::default());
}

/// Tiles at the edge of D are as large as they are.
#[test]
fn the_tile_of_an_element() {
    let tiles = json!({"kind": "tiles", "tile": [4, 8], "raster": "along_rows",
        "groups": [{"tiles": null, "parts": {"kind": "whole"}}]});
    let merge = json!({"kind": "sum", "order": "serial", "start": "first"});
    let spec = spec(&json!({"split": {"parts": tiles, "merge": merge}}));
    let tensor = |shape: [usize; 2]| {
        Tensor::from_codes(Format::Fp16, shape.to_vec(), &vec![0; shape[0] * shape[1]])
    };
    let (a, b) = (tensor([10, 1]), tensor([1, 21]));
    let problem = Problem::new(a.planes(), b.planes(), None).expect("shapes that fit");
    let values = Values::default();
    let kernel = BoundSchedule::new(&spec, &values, &problem);
    let tile = |row, column| kernel.tile(row, column).expect("a tile");
    assert_eq!(tile(0, 0), ([0, 0], [0..4, 0..8]));
    assert_eq!(tile(7, 8), ([1, 1], [4..8, 8..16]));
    assert_eq!(tile(8, 20), ([2, 2], [8..10, 16..21]));
    // A part is in the tiles that it was in before.
    assert_eq!(kernel.part(0, [3, 5]).tile(8, 20), kernel.tile(8, 20));
    // Three by three tiles, all of one chain.
    let traversal = kernel.traversal(1, 4, 9, 20);
    assert_eq!(
        traversal,
        KTraversal::new(
            &spec,
            1,
            4,
            TileOfD {
                at: [2, 2],
                count: [3, 3]
            }
        )
        .unwrap()
    );
}

/// The k of every part, as `first..end` where it is a range.
fn parts(spec: &ScheduleSpec, k: usize, at: [usize; 2], count: [usize; 2]) -> String {
    let traversal = KTraversal::new(spec, k, 4, TileOfD { at, count }).expect("nothing is open");
    assert!(traversal.omitted.is_empty());
    assert_eq!(traversal.products(), k);
    let chains = traversal.root.chains();
    let text = chains.iter().map(|chain| match &chain.indices {
        KIndices::Range(k) => format!("{k:?}"),
        KIndices::List(_) => panic!("tiles of whole steps"),
    });
    text.collect::<Vec<_>>().join(" ")
}

/// Groups of tiles, counted along rows or columns; those of the last are shared by workers.
#[test]
fn groups_of_tiles() {
    let split = |raster: &str, workers: usize| {
        let merge = json!({"kind": "sum", "order": "serial", "start": "first"});
        let parts = json!({"kind": "tiles", "tile": [8, 8], "raster": raster, "groups": [
            {"tiles": 1, "parts": {"kind": "whole"}},
            {"tiles": 2, "parts": {"kind": "slices", "count": 2, "length": "ceil", "empty": "zero"}},
            {"tiles": null, "parts": {"kind": "shared", "workers": workers}},
        ]});
        spec(&json!({"tile_k": 4, "split": {"parts": parts, "merge": merge}}))
    };
    let all = |spec: &ScheduleSpec| {
        let tiles = (0..6).map(|i| parts(spec, 16, [i / 3, i % 3], [2, 3]));
        tiles.collect::<Vec<_>>()
    };
    // Three tiles of four steps: five workers have 3, 3, 2, 2 and 2 of them.
    assert_eq!(
        all(&split("along_rows", 5)),
        [
            "0..16",
            "0..8 8..16",
            "0..8 8..16",
            "0..12 12..16",
            "0..8 8..16",
            "0..8 8..16"
        ]
    );
    assert_eq!(
        all(&split("along_columns", 5)),
        [
            "0..16",
            "0..8 8..16",
            "0..8 8..16",
            "0..8 8..16",
            "0..12 12..16",
            "0..8 8..16"
        ]
    );
    // Four have 3 each, and end in the middle of tiles.
    assert_eq!(
        all(&split("along_rows", 4))[3..],
        ["0..12 12..16", "0..8 8..16", "0..4 4..16"]
    );
    // More than there are steps: each step has its own.
    let each = "0..4 4..8 8..12 12..16";
    assert_eq!(all(&split("along_rows", 13))[3..], [each; 3]);
    assert_eq!(all(&split("along_rows", 1))[3..], ["0..16"; 3]);
}

/// One slice needs no merge, unless its sum is rounded or starts from +0.
#[test]
fn one_slice() {
    let root = |merge: serde_json::Value| {
        let parts =
            json!({"kind": "slices", "count": 1, "grain": 8, "length": "ceil", "empty": "zero"});
        let spec = spec(&json!({"split": {"parts": parts, "merge": merge}}));
        KTraversal::new(&spec, 16, 4, TileOfD::ONLY)
            .expect("nothing is open")
            .root
    };
    let merge = |start: &str, partials: &str| json!({"kind": "sum", "order": "reverse", "start": start, "partials": partials});
    assert!(matches!(root(merge("first", "f32")), Node::Chain(_)));
    assert!(matches!(root(json!({"kind": "in_place"})), Node::Chain(_)));
    for merge in [merge("zero", "f32"), merge("first", "result")] {
        assert!(matches!(root(merge), Node::Sum(_)));
    }
}

/// Groups that end before D does are refused.
#[test]
fn too_few_tiles() {
    let merge = json!({"kind": "sum", "order": "serial", "start": "first"});
    let whole = json!({"kind": "whole"});
    let parts = json!({"kind": "tiles", "tile": [8, 8], "raster": "along_rows", "groups": [
        {"tiles": 1, "parts": whole}, {"tiles": null, "parts": whole}]});
    let mut spec = spec(&json!({"split": {"parts": parts, "merge": merge}}));
    if let Some(Parts::Tiles { groups, .. }) = spec.split.as_mut().map(|split| &mut split.parts) {
        groups.truncate(1);
    }
    let tile = |at| KTraversal::new(&spec, 8, 4, TileOfD { at, count: [1, 2] });
    assert!(tile([0, 0]).is_ok());
    let refused = tile([0, 1]).expect_err("one tile of two");
    assert!(
        refused.contains("have 1 tiles of D, but there are 2"),
        "{refused}"
    );
}

/// A short document asks for more sums than memory holds, or for more zeros than products.
#[test]
fn too_many_sums() {
    let sum = |order: &str| json!({"kind": "sum", "order": order, "start": "first"});
    let slices = |count: usize| json!({"kind": "slices", "count": count, "grain": 1, "length": "ceil", "empty": "zero"});
    let groups = |count| {
        json!({"kind": "tiles", "tile": [8, 8], "raster": "along_rows",
            "groups": [{"tiles": null, "parts": slices(count)}]})
    };
    let levels = |outer: usize, inner: usize| {
        json!({"split": {"parts": groups(outer), "merge": sum("serial")},
            "inner": [{"parts": slices(inner), "merge": sum("serial")}]})
    };
    let new = |document: serde_json::Value, k| {
        KTraversal::new(&spec(&document), k, 64, TileOfD::ONLY).map(|made| made.root.chains().len())
    };
    assert_eq!(new(levels(16, 4), 64), Ok(64));
    assert_eq!(new(json!({"instruction_k": 1}), 1000), Ok(1));
    for (document, k) in [
        (levels(1 << 20, 1 << 20), 64),
        (json!({"instruction_k": 1}), 100_000),
    ] {
        let refused = new(document, k).expect_err("too many");
        assert!(refused.contains("limit: 4194304 sums"), "{refused}");
    }
}

fn numbers(shape: &[usize], first: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let codes: Vec<u64> = (0..count as u64).map(|i| 0x3f80_0000 + first + i).collect();
    Tensor::from_codes(Format::Fp32, shape.to_vec(), &codes)
}

/// Which shapes scales may have, how others are refused, and which scale an element gets.
#[test]
fn scales_of_a_product() {
    let zeros = |shape: &[usize]| {
        Tensor::from_codes(
            Format::E4m3,
            shape.to_vec(),
            &vec![0; shape.iter().product()],
        )
    };
    let (a, b) = (zeros(&[2, 3, 8]), zeros(&[2, 8, 5]));
    let problem = Problem::new(a.planes(), b.planes(), None).expect("shapes that fit");
    let given = |per, of_a: &[usize], of_b: &[usize]| {
        let (of_a, of_b) = (numbers(of_a, 0), numbers(of_b, 100));
        Values::default().with_scales(per, [of_a.planes(), of_b.planes()], &problem)
    };
    let block = Per::Block {
        rows: 2,
        columns: 3,
        k: 4,
    };
    for (per, of_a, of_b) in [
        (Per::Tensor, &[][..], &[1][..]),
        (Per::Tensor, &[1, 1], &[2, 1, 1]),
        (Per::Row, &[3], &[5]),
        (Per::Row, &[3, 1], &[1, 5]),
        (Per::Row, &[2, 3, 1], &[2, 1, 5]),
        (Per::RowOrTensor, &[1], &[5]),
        (Per::RowOrTensor, &[3], &[1, 1]),
        (Per::RowOrTensor, &[2, 1, 1], &[2, 1, 5]),
        (block, &[2, 2], &[2, 2]),
        (block, &[2, 2, 2], &[2, 2, 2]),
    ] {
        let found =
            given(per, of_a, of_b).unwrap_or_else(|e| panic!("{per:?} {of_a:?} {of_b:?}: {e}"));
        assert!(found.has_scales());
        let one =
            |shape: &[usize], count: usize| per == Per::RowOrTensor && !shape.contains(&count);
        assert_eq!(found.one_scale(), [one(of_a, 3), one(of_b, 5)]);
        // The number of that place in the order that it was given in.
        let at = |shape: &[usize], batch: usize, i: usize| {
            let each: usize =
                shape.iter().product::<usize>() / if shape.len() == 3 { 2 } else { 1 };
            let i = if each == 1 { 0 } else { i };
            (batch * usize::from(shape.len() == 3) * each + i) as u32
        };
        for (batch, row, column, k) in [(0, 0, 0, 0), (1, 2, 4, 7), (0, 1, 3, 4), (1, 0, 2, 3)] {
            let (i, j) = match per {
                Per::Tensor => (0, 0),
                Per::Row | Per::RowOrTensor => (row, column),
                Per::Block { .. } => (row / 2 * 2 + k / 4, k / 4 * 2 + column / 3),
            };
            let [a, b] = [
                found.scale_a(per, batch, row, k),
                found.scale_b(per, batch, column, k),
            ];
            assert_eq!(a - 0x3f80_0000, at(of_a, batch, i), "A: {per:?} {of_a:?}");
            assert_eq!(
                b - 0x3f80_0000 - 100,
                at(of_b, batch, j),
                "B: {per:?} {of_b:?}"
            );
        }
    }
    let of_each = Per::Block {
        rows: 1,
        columns: 1,
        k: 8,
    };
    for (per, of_a, of_b, reason) in [
        (
            Per::Tensor,
            &[2][..],
            &[1][..],
            "the scales of A are 2, but the schedule has one for all and needs a single number",
        ),
        (Per::Row, &[1], &[5], "one per row of A and needs 3 or 3x1"),
        (
            Per::Row,
            &[3],
            &[1, 1],
            "the scales of B are 1x1, but the schedule has one per column of B and needs 5 or 1x5",
        ),
        (Per::Row, &[1, 3], &[5], "the scales of A are 1x3"),
        (Per::Row, &[3, 3, 1], &[5], "the scales of A are 3x3x1"),
        (
            Per::RowOrTensor,
            &[2],
            &[5],
            "one per row of A, or one for all and needs 3, 3x1 or a single number",
        ),
        (
            Per::RowOrTensor,
            &[3],
            &[4],
            "one per column of B, or one for all",
        ),
        (
            block,
            &[4],
            &[2, 2],
            "one per 2 rows and 4 k of A and needs 2x2, for the whole batch or for each of 2",
        ),
        (block, &[2, 2], &[4], "one per 4 k and 3 columns of B"),
        (
            of_each,
            &[1],
            &[5],
            "one per row and 8 k of A and needs 3 or 3x1",
        ),
        (
            of_each,
            &[3, 1],
            &[4],
            "one per 8 k and column of B and needs 5 or 1x5",
        ),
    ] {
        let refused = given(per, of_a, of_b)
            .expect_err("another shape")
            .to_string();
        assert!(refused.contains(reason), "{refused}");
    }
}
