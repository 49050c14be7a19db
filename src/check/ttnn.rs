//! A Tenstorrent kernel as ttnn describes it: fidelity, accumulator, and blocks of K.

use super::error::CheckError;
use crate::emu::Arithmetic;
use crate::emu::step::{Blocks, Reload, ThroughMemory};
use crate::num::Format;

/// k of a tile.
const TILE: usize = 32;

/// A request's fields of ttnn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TtnnRequest {
    /// Configurations as Python prints them.
    pub text: Option<String>,
    pub in0_block_w: Option<usize>,
    pub packer_l1_acc: bool,
    pub reload: Option<Reload>,
}

/// What ttnn's configurations state of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TtnnConfiguration {
    /// The instruction of this name.
    pub fidelity: Option<String>,
    pub fp32_dest_acc_en: Option<bool>,
    pub packer_l1_acc: Option<bool>,
    pub in0_block_w: Option<usize>,
}

impl TtnnConfiguration {
    /// Dst's format for operands of a format; integers have one alone.
    pub fn accumulator(&self, operands: Format) -> Option<Format> {
        let fp32 = self.fp32_dest_acc_en.filter(|_| !operands.is_integer())?;
        Some(match (fp32, operands.exponent_bits()) {
            (true, _) => Format::Fp32,
            (false, 5) => Format::Fp16,
            (false, _) => Format::Bf16,
        })
    }
}

impl TtnnRequest {
    /// The request for an arithmetic's blocks.
    pub fn of(arithmetic: &Arithmetic) -> TtnnRequest {
        let ThroughMemory::Blocks(Some(blocks)) = arithmetic.step.through_memory() else {
            return TtnnRequest::default();
        };
        TtnnRequest {
            text: None,
            in0_block_w: Some(blocks.k / TILE),
            packer_l1_acc: blocks.l1_acc,
            reload: (arithmetic.accumulator == Format::Fp32).then_some(blocks.reload),
        }
    }

    /// What the text states together with the other fields.
    ///
    /// # Errors
    /// If it contradicts a field.
    pub fn with_text(&self, stated: TtnnConfiguration) -> Result<TtnnConfiguration, CheckError> {
        if let (Some(text), Some(field)) = (stated.in0_block_w, self.in0_block_w)
            && text != field
        {
            let reason = format!("`in0_block_w` is {field}, but `ttnn` says {text}");
            return Err(CheckError::request("in0_block_w", reason));
        }
        if self.packer_l1_acc && stated.packer_l1_acc == Some(false) {
            let reason = "`packer_l1_acc` is given, but `ttnn` says False";
            return Err(CheckError::request("packer_l1_acc", reason));
        }
        Ok(TtnnConfiguration {
            in0_block_w: self.in0_block_w.or(stated.in0_block_w),
            packer_l1_acc: self.packer_l1_acc.then_some(true).or(stated.packer_l1_acc),
            ..stated
        })
    }

    /// The arithmetic with what happens between blocks of K.
    ///
    /// # Errors
    /// Blocks that the unit does not take, or that leave open what decides a bit.
    pub fn between_blocks(
        &self,
        arithmetic: Arithmetic,
        k: usize,
        configuration: &TtnnConfiguration,
    ) -> Result<Arithmetic, CheckError> {
        if *self == TtnnRequest::default() {
            return Ok(arithmetic);
        }
        let unknown = match arithmetic.step.through_memory() {
            ThroughMemory::Blocks(_) => None,
            ThroughMemory::Unknown if self.in0_block_w.is_none() && self.reload.is_none() => {
                return Ok(arithmetic);
            }
            ThroughMemory::Unknown => {
                Some("it is not known how integers go through L1 between blocks")
            }
            ThroughMemory::Never => {
                Some("it applies only to Tenstorrent's units (wormhole, blackhole)")
            }
        };
        if let Some(reason) = unknown {
            let field = match (&self.text, self.in0_block_w) {
                (Some(_), _) => "ttnn",
                (None, Some(_)) => "in0_block_w",
                (None, None) => "reload",
            };
            return Err(CheckError::request(field, format!("`{field}`: {reason}")));
        }
        let fault =
            |reason: String| CheckError::request("in0_block_w", format!("`in0_block_w`: {reason}"));
        let tiles = k.div_ceil(TILE);
        let Some(width) = configuration.in0_block_w else {
            // One tile is one block, whatever their width.
            return if tiles > 1 {
                Err(fault(format!(
                    "K is {k}, {tiles} tiles, but the number of tiles per block is missing; take it from the program \
                 config ('tcverify identify' tries all)"
                )))
            } else {
                Ok(arithmetic)
            };
        };
        if width == 0 || !tiles.is_multiple_of(width) {
            return Err(fault(format!(
                "K is {k}, {tiles} tiles of 32, not a multiple of blocks of {width}"
            )));
        }
        if tiles == width {
            return Ok(arithmetic);
        }
        let reload = match (arithmetic.accumulator, self.reload) {
            (Format::Fp32, None) => {
                return Err(CheckError::request(
                    "reload",
                    "how FP32 sums are read back from L1 depends on the version of tt-metal: give `reload` as exact, \
                     tf32 or bf16 ('tcverify identify' tries all)",
                ));
            }
            (_, reload) => reload.unwrap_or(Reload::Exact),
        };
        let mut arithmetic = arithmetic;
        arithmetic.step.set_blocks(Blocks {
            k: TILE * width,
            l1_acc: configuration.packer_l1_acc == Some(true),
            reload,
        });
        arithmetic.check().map_err(fault)?;
        Ok(arithmetic)
    }
}
