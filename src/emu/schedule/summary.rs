//! A recipe in one line for people.

use super::{Addend, Combine, Multiply, Partials, Per, Raster, Recipe, Residue, ScaledAt, Split};

impl Recipe {
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        parts.push(match &self.split {
            Split::None {} => "one chain over K".to_owned(),
            Split::Serial { slices } => format!("{} slices of K, each added to D as it is stored", open(*slices)),
            Split::Workspace { slices, partials } => {
                let kept = match partials {
                    Partials::F32 => "f32",
                    Partials::Result => "D's format",
                };
                format!("{} slices of K, kept in {kept}, added up in f32 from 0", open(*slices))
            }
            Split::Sliced { warps, stripe } => {
                format!("{warps} warps take stripes of {stripe} k in turn, added up in f32")
            }
            Split::Chunks { starts } => format!("chunks of K from {starts:?} on, added up in f32"),
            Split::Stream { workers, tile: [rows, columns], raster } => {
                let along = match raster {
                    Raster::AlongRows => "rows",
                    Raster::AlongColumns => "columns",
                };
                format!(
                    "stream-K: {} workers share tiles of {rows}x{columns} along {along}, chunks added up in f32",
                    open(*workers)
                )
            }
        });
        if let Some(tile) = self.tile_k {
            parts.push(match self.residue {
                Residue::Last => format!("tiles of {tile}, a partial one last"),
                Residue::First => format!("tiles of {tile}, a partial one first"),
                Residue::FirstAligned => {
                    format!("tiles of {tile}, a partial one first and filled up in front")
                }
            });
        }
        if let Some(order) = &self.order {
            let shown: Vec<_> = order.iter().take(8).map(usize::to_string).collect();
            parts.push(format!(
                "every {} k in the order {}, ...",
                order.len(),
                shown.join(" ")
            ));
        }
        if let Some(passes) = &self.passes {
            parts.push(format!(
                "{} products of parts for every {} k",
                passes.products.len(),
                passes.every
            ));
        }
        if let Some(promote) = &self.promote {
            let first = promote
                .first
                .map_or(String::new(), |first| format!(" (first after {first})"));
            parts.push(format!(
                "added to an f32 accumulator every {} k{first}",
                promote.every
            ));
        }
        if let Some(scales) = &self.scales {
            let per = match scales.per {
                Per::Tensor => "per tensor".to_owned(),
                Per::Row => "per row and column".to_owned(),
                Per::Block { rows, columns, k } => {
                    format!("per {rows}x{k} of A and {k}x{columns} of B")
                }
            };
            let how = match scales.multiply {
                Multiply::Joint => "sum * (sA*sB)",
                Multiply::JointFma => "fma(sum, sA*sB, main)",
                Multiply::AThenB => "(sum*sA) * sB",
                Multiply::BThenA => "(sum*sB) * sA",
                Multiply::AThenBFma => "fma(sum*sA, sB, main)",
            };
            let at = match scales.at {
                ScaledAt::Promotion => "when promoted",
                ScaledAt::Epilogue => "at the end",
            };
            parts.push(format!("scales {per}: {how} {at}"));
        }
        if self.addend == Addend::Epilogue {
            parts.push(match self.epilogue.combine {
                Combine::Fma => "epilogue fma(alpha, sum, beta*C)".into(),
                Combine::Separate => "epilogue alpha*sum + beta*C".into(),
            });
        }
        parts.join("; ")
    }
}

fn open(count: Option<usize>) -> String {
    count.map_or("?".into(), |count| count.to_string())
}
