//! cublasLt's numbers and their names (cublasLt.h of cuBLAS 12.8.4.1).

use std::sync::LazyLock;

use serde::Serialize;

/// K of a tile and how many tiles are under way: `cublasLtMatmulStages_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stages {
    pub id: u32,
    /// None where the library leaves it undefined.
    pub k: Option<usize>,
    /// None is AUTO.
    pub count: Option<u32>,
}

impl Stages {
    pub const UNDEFINED: Stages = Stages {
        id: 0,
        k: None,
        count: None,
    };

    pub fn of_id(id: u32) -> Option<Stages> {
        let (k, count) = match id {
            0 => return Some(Stages::UNDEFINED),
            1..=24 => (16 << ((id - 1) / 6), Some(1 + (id - 1) % 6)),
            25 => (32, Some(10)),
            26 => (8, Some(4)),
            27 => (16, Some(10)),
            28 => (8, Some(5)),
            31 => (8, Some(3)),
            32 => (8, None),
            33 => (16, None),
            34 => (32, None),
            35 => (64, None),
            36 => (128, None),
            37 => (256, None),
            _ => return None,
        };
        Some(Stages {
            id,
            k: Some(k),
            count,
        })
    }

    /// Of an id, or of a name such as `64xAUTO` with or without its prefix.
    pub fn parse(text: &str) -> Option<Stages> {
        if let Ok(id) = text.parse() {
            return Stages::of_id(id);
        }
        let short = without_prefix(text, &["CUBLASLT_", "MATMUL_", "STAGES_"]);
        if short.eq_ignore_ascii_case("UNDEFINED") {
            return Some(Stages::UNDEFINED);
        }
        (1..=37)
            .filter_map(Stages::of_id)
            .find(|stages| stages.name().eq_ignore_ascii_case(short))
    }

    pub fn name(self) -> String {
        match (self.k, self.count) {
            (None, _) => "UNDEFINED".into(),
            (Some(k), None) => format!("{k}xAUTO"),
            (Some(k), Some(count)) => format!("{k}x{count}"),
        }
    }
}

/// Tiles with ids up to 35: rows and columns of D in column-major order.
const FIRST_TILES: [&str; 4] = [
    "0x0 8x8 8x16 16x8 8x32 16x16 32x8 8x64 16x32 32x16",
    "64x8 32x32 32x64 64x32 32x128 64x64 128x32 64x128 128x64 64x256",
    "128x128 256x64 64x512 128x256 256x128 512x64 64x96 96x64 96x128",
    "128x160 160x128 192x128 128x192 128x96 32x256 256x32",
];

/// All tiles by id. The header lists them one by one; from 36 on they follow two rules.
static TILES: LazyLock<Vec<[u32; 2]>> = LazyLock::new(|| {
    let first = FIRST_TILES.iter().flat_map(|tiles| tiles.split(' '));
    let mut tiles: Vec<[u32; 2]> = first.map(|tile| numbers(tile).expect("two")).collect();
    let mut family = |row_step: u32, column_step: u32, most: u32| {
        for rows in (row_step..=768).step_by(row_step as usize) {
            for columns in (column_step..=768).step_by(column_step as usize) {
                if rows * columns <= most && !tiles.contains(&[rows, columns]) {
                    tiles.push([rows, columns]);
                }
            }
        }
    };
    family(8, 64, 49_152);
    family(64, 8, 65_536);
    tiles.extend([[256, 512], [256, 1024], [512, 512], [512, 1024]]);
    tiles
});

/// Rows and columns of a tile, as a library that works column-major says them:
/// `cublasLtMatmulTile_t`.
pub fn tile_of_id(id: u32) -> Option<[u32; 2]> {
    let tile = TILES.get(id as usize).copied()?;
    (id > 0).then_some(tile)
}

/// Of an id, or of a name such as `64x104` with or without its prefix. Id 0 is none.
pub fn parse_tile(text: &str) -> Option<Option<[u32; 2]>> {
    if let Ok(id) = text.parse::<u32>() {
        return match id {
            0 => Some(None),
            id => tile_of_id(id).map(Some),
        };
    }
    let short = without_prefix(text, &["CUBLASLT_", "MATMUL_", "TILE_"]);
    if short.eq_ignore_ascii_case("UNDEFINED") {
        return Some(None);
    }
    let size: [u32; 2] = numbers(short)?;
    let fits = size.iter().all(|side| (1..=65_536).contains(side));
    fits.then_some(Some(size))
}

/// `cublasLtClusterShape_t`: it does not affect the result, so a name serves.
pub fn cluster_name(text: &str) -> Option<String> {
    const NAMES: [(u32, &str); 12] = [
        (0, "AUTO"),
        (2, "1x1x1"),
        (3, "2x1x1"),
        (4, "4x1x1"),
        (5, "1x2x1"),
        (6, "2x2x1"),
        (7, "4x2x1"),
        (8, "1x4x1"),
        (9, "2x4x1"),
        (10, "4x4x1"),
        (11, "8x1x1"),
        (12, "1x8x1"),
    ];
    if let Ok(id) = text.parse::<u32>() {
        let known = NAMES.iter().find(|(known, _)| *known == id);
        return Some(known.map_or(format!("id {id}"), |(_, name)| (*name).into()));
    }
    let short = without_prefix(text, &["CUBLASLT_", "CLUSTER_SHAPE_"]);
    (short == "AUTO" || numbers::<3>(short).is_some()).then(|| short.to_owned())
}

/// `cublasLtMatmulInnerShape_t`.
pub fn inner_shape_name(text: &str) -> Option<&'static str> {
    const NAMES: [&str; 5] = ["UNDEFINED", "MMA884", "MMA1684", "MMA1688", "MMA16816"];
    if let Ok(id) = text.parse::<usize>() {
        return NAMES.get(id).copied();
    }
    let short = without_prefix(text, &["CUBLASLT_", "MATMUL_", "INNER_SHAPE_"]);
    NAMES
        .into_iter()
        .find(|name| name.eq_ignore_ascii_case(short))
}

/// Whether it is a whole number without a sign.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `128x64x32`, so many numbers.
pub(super) fn numbers<const N: usize>(text: &str) -> Option<[u32; N]> {
    let mut parts = text.split('x');
    let mut all = [0; N];
    for number in &mut all {
        let part = parts.next()?;
        is_digits(part).then_some(())?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(all)
}

fn without_prefix<'t>(text: &'t str, prefixes: &[&str]) -> &'t str {
    prefixes
        .iter()
        .fold(text, |text, prefix| match text.get(..prefix.len()) {
            Some(start) if start.eq_ignore_ascii_case(prefix) => &text[prefix.len()..],
            _ => text,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Scheme;

    #[test]
    fn tiles_follow_the_rules_of_the_header() {
        let checks = [
            (1, [8, 8]),
            (2, [8, 16]),
            (5, [16, 16]),
            (8, [16, 32]),
            (11, [32, 32]),
            (14, [32, 128]),
            (15, [64, 64]),
            (17, [64, 128]),
            (18, [128, 64]),
            (20, [128, 128]),
            (22, [64, 512]),
            (24, [256, 128]),
            (25, [512, 64]),
            (26, [64, 96]),
            (28, [96, 128]),
            (29, [128, 160]),
            (31, [192, 128]),
            (33, [128, 96]),
            (34, [32, 256]),
            (35, [256, 32]),
            (36, [8, 128]),
            (312, [64, 16]),
            (448, [192, 8]),
            (513, [256, 256]),
            (631, [256, 512]),
            (634, [512, 1024]),
        ];
        for (id, tile) in checks {
            assert_eq!(tile_of_id(id), Some(tile), "{id}");
        }
        assert_eq!(tile_of_id(0), None);
        assert_eq!(tile_of_id(635), None);
        assert_eq!(parse_tile("MATMUL_TILE_64x104"), Some(Some([64, 104])));
        assert_eq!(parse_tile("0"), Some(None));
        assert_eq!(parse_tile("64x"), None);
        assert_eq!(parse_tile("+64x8"), None);
    }

    #[test]
    fn stages_have_ids_and_names() {
        for id in (0..=28).chain(31..=37) {
            let stages = Stages::of_id(id).expect("listed");
            assert_eq!(Stages::parse(&stages.name()), Some(stages));
            assert_eq!(
                Stages::parse(&format!("CUBLASLT_MATMUL_STAGES_{}", stages.name())),
                Some(stages)
            );
        }
        assert_eq!(Stages::of_id(15).unwrap().name(), "64x3");
        assert_eq!(Stages::of_id(24).unwrap().name(), "128x6");
        assert_eq!(Stages::parse("MATMUL_STAGES_64xAUTO").unwrap().id, 35);
        assert_eq!(Stages::of_id(29), None);
        assert_eq!(Stages::parse("48x2"), None);
    }

    #[test]
    fn schemes_have_ids_and_names() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::parse(&scheme.id().to_string()), Some(scheme));
            assert_eq!(Scheme::parse(scheme.name()), Some(scheme));
        }
        assert_eq!(
            Scheme::parse("REDUCTION_SCHEME_INPLACE"),
            Some(Scheme::Inplace)
        );
        assert_eq!(Scheme::parse("3"), None);
        assert_eq!(inner_shape_name("4"), Some("MMA16816"));
        assert_eq!(cluster_name("CLUSTER_SHAPE_2x1x1").unwrap(), "2x1x1");
        assert_eq!(cluster_name("6").unwrap(), "2x2x1");
    }
}
