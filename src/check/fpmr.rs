//! What a request says of Arm's register FPMR, which scales and limits sums of FP8 products.

use super::error::CheckError;
use crate::emu::Arithmetic;
use crate::emu::step::Fpmr;

/// A request's fields of FPMR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FpmrRequest {
    pub lscale: Option<u32>,
    pub osm: Option<u32>,
}

impl FpmrRequest {
    /// The request for what an arithmetic reads.
    pub fn of(arithmetic: &Arithmetic) -> FpmrRequest {
        let fpmr = arithmetic.step.fpmr().unwrap_or_default();
        FpmrRequest {
            lscale: (fpmr.lscale != 0).then_some(fpmr.lscale),
            osm: fpmr.osm.then_some(1),
        }
    }

    /// The arithmetic with these values; those that are not given are the rule's.
    ///
    /// # Errors
    /// A value that the register cannot hold, or an instruction that does not read it.
    pub fn applied(self, arithmetic: Arithmetic) -> Result<Arithmetic, CheckError> {
        let (field, value) = match self {
            FpmrRequest {
                lscale: Some(lscale),
                ..
            } => ("lscale", lscale),
            FpmrRequest { osm: Some(osm), .. } => ("osm", osm),
            _ => return Ok(arithmetic),
        };
        let Some(own) = arithmetic.step.fpmr() else {
            let reason = format!(
                "`{field}` is {value}, but this instruction does not read it: it applies only to Arm's FP8 \
                 instructions, such as fdot4"
            );
            return Err(CheckError::request(field, reason));
        };
        if let Some(osm) = self.osm.filter(|osm| *osm > 1) {
            let reason = format!("`osm` is {osm}; it must be 0 or 1");
            return Err(CheckError::request("osm", reason));
        }
        let mut arithmetic = arithmetic;
        arithmetic.step.set_fpmr(Fpmr {
            lscale: self.lscale.unwrap_or(own.lscale),
            osm: self.osm.map_or(own.osm, |osm| osm == 1),
        });
        let checked = arithmetic.check();
        checked.map_err(|reason| CheckError::request("lscale", format!("`lscale`: {reason}")))?;
        Ok(arithmetic)
    }
}
