//! From a reading and a shape to a plan.

use super::family::{Family, Library, Request, nvjet};
use super::{
    Capability, Compute, DroppedRemainder, How, IfKnown, Kept, KernelError, KernelReading, Open,
    Options, Plan, Scheme, Settings, Shape, Sourced,
};
use crate::emu::Catalogue;
use crate::num::Format;

/// Largest K of a plan: no GPU multiplies longer ones.
const MAX_K: usize = 1 << 40;

/// Refuses settings that a plan of this family does not use: they belong to another kernel.
fn refuse_unused(plan: &mut Plan, family: &Family, options: &Options) -> Result<(), KernelError> {
    fn stated<T: Copy>(known: &Option<Sourced<T>>) -> Option<T> {
        let known = known.as_ref()?;
        matches!(known.how, How::Stated | How::Given).then_some(known.value)
    }
    let no = |what: &str, value: &dyn std::fmt::Display, why: String| {
        Err(KernelError::unplanned(what, value, why))
    };
    let kernels = family.id;
    let lane = plan.lanes().next();
    let planned = lane.map_or(1, |lane| lane.instruction_k);
    if let Some(k) = stated(&plan.settings.instruction_k).filter(|k| *k != planned) {
        let why = format!("an instruction of {kernels} kernels takes {planned} k here");
        return no("k of an instruction", &k, why);
    }
    if let Some(k) = stated(&plan.settings.tile_k) {
        let planned = plan.tile.map(|tile| tile.k);
        if planned != Some(k) {
            let why = match planned {
                Some(k) => format!("the {kernels} kernels seen so far have tiles of {k} k"),
                None => format!("{kernels} kernels have no tile of K"),
            };
            return no("k of a tile", &k, why);
        }
    }
    if !family.has_warps_of_k {
        if let Some(warps) = stated(&plan.settings.sliced).filter(|warps| *warps > 1) {
            let why =
                format!("it is not known how the warps of {kernels} kernels share a tile of K");
            return no("the number of warps that share K", &warps, why);
        }
        if let Some(partition) = stated(&plan.settings.partition) {
            let why = format!("{kernels} kernels cut K in their own way");
            return no("the partition of K", &partition, why);
        }
    }
    if let Some(rotation) = options
        .rotation
        .filter(|_| family.library != Library::HipblasLt)
    {
        let why = "only AMD kernels rotate their loop over K".into();
        return no("the rotation", &rotation, why);
    }
    let scheme = stated(&plan.settings.scheme);
    let scheme = scheme.filter(|scheme| [Scheme::Inplace, Scheme::OutputType].contains(scheme));
    if let Some(scheme) = scheme.filter(|_| plan.slices.len() > 1 && plan.merge.kept == Kept::F32) {
        plan.assumed.push(format!(
            "slices of {kernels} kernels are added in f32, although the reduction scheme is {scheme}: nothing else \
            has been seen"
        ));
    }
    Ok(())
}

/// Refuses a GPU of another maker, and reference models, which no library has kernels for.
fn confirm_vendor(family: &Family, options: &Options) -> Result<(), KernelError> {
    let wrong = |text: String, requested: String| Err(KernelError::WrongGpu { text, requested });
    let other = options.other_gpu.as_deref();
    if family.library != Library::HipblasLt {
        return match other {
            Some(gpu) => wrong(format!("NVIDIA's kernels ({})", family.title), gpu.into()),
            None => Ok(()),
        };
    }
    let named: Vec<_> = options.capability.iter().chain(&options.one_of).collect();
    if !named.is_empty() {
        return wrong("an AMD GPU's kernel".into(), Capability::any_of(named));
    }
    // LLVM calls AMD's GPUs gfx and a number.
    let is_amd = |gpu: &str| {
        let found = Catalogue::builtin().find(gpu);
        found.is_ok_and(|found| found.also.iter().any(|name| name.starts_with("gfx")))
    };
    match other {
        Some(gpu) if !is_amd(gpu) => wrong("an AMD GPU's kernel".into(), gpu.into()),
        _ => Ok(()),
    }
}

impl KernelReading {
    /// The settings that a plan needs and neither the text nor these answers give.
    ///
    /// # Errors
    /// If the answers contradict the text.
    pub fn open(&self, options: &Options) -> Result<Vec<Open>, KernelError> {
        let settings = options.applied(&self.settings)?;
        Ok((self.family.value.needs)(&settings))
    }

    /// The order of the sums of a product.
    ///
    /// # Errors
    /// If the text describes another product or GPU, lacks a setting that the order depends on, or
    /// names a kernel whose order is not known.
    pub fn plan(&self, shape: &Shape, options: &Options) -> Result<Plan, KernelError> {
        let shape = *shape;
        let none = |why| Err(KernelError::NoKernel { shape, why });
        match (shape.m, shape.n, shape.k) {
            (_, _, 0) => return none("K is 0, so the library fills D with +0"),
            (0, _, _) | (_, 0, _) => return none("D has no elements"),
            (_, _, k) if k > MAX_K => return none("K is longer than any GPU supports"),
            _ => {}
        }
        self.is_about(shape)?;
        let settings = options.applied(&self.settings_for(shape))?;
        let family = self.family.value;
        confirm_vendor(family, options)?;
        let compute = settings.compute.value();
        if compute == Some(Compute::F16) {
            return Err(KernelError::unknown(
                "kernels that accumulate in FP16",
                "none has been compared",
            ));
        }
        if let Some(open) = (family.needs)(&settings).into_iter().next() {
            return Err(open.into());
        }
        // For some kernels it matters which side of D is 1: the launch decides, not the request's orientation.
        let request = Request {
            settings,
            shape: self.product.unwrap_or(shape),
            options,
        };
        request.confirm_age(family)?;
        let mut plan = (family.plan)(&request)?;
        plan.shape = shape;
        refuse_unused(&mut plan, family, options)?;
        let unknown: Vec<&str> = self.unknown().map(|token| token.key.as_str()).collect();
        if !unknown.is_empty() {
            plan.assumed.push(format!(
                "unrecognised words do not affect the result: {}",
                unknown.join(", ")
            ));
        }
        let finished = plan.settings.epilogue.as_ref();
        if plan.slices.len() > 1
            && finished.is_some_and(|known| !["DEFAULT", "NONE"].contains(&&*known.value))
        {
            plan.assumed
                .push("an epilogue after split slices: no source has compared one".into());
        }
        Ok(plan)
    }

    /// Refuses a text about another product. A column-major D is the transposed product.
    pub fn is_about(&self, shape: Shape) -> Result<(), KernelError> {
        let Some(text) = self.product else {
            return Ok(());
        };
        let transposed = Shape {
            m: text.n,
            n: text.m,
            ..text
        };
        if shape == text || shape == transposed {
            Ok(())
        } else {
            Err(KernelError::WrongShape {
                text,
                requested: shape,
            })
        }
    }

    /// Formats of A and B of a request for this shape.
    pub fn operands(&self, shape: Shape) -> Option<[Format; 2]> {
        self.settings_for(shape).operands.value()
    }

    /// The operands of the transposed product change places.
    pub(super) fn settings_for(&self, shape: Shape) -> Settings {
        let mut settings = self.settings.clone();
        if self.product.is_some_and(|text| text != shape)
            && let Some(known) = &mut settings.operands
        {
            known.value.reverse();
        }
        settings
    }

    /// The k at the end of K that the kernel drops, by a known defect of split nvjet kernels. Also
    /// `None` if the text and the answers do not say enough.
    pub fn dropped_remainder(&self, k: usize, options: &Options) -> Option<DroppedRemainder> {
        if *self.family.value != nvjet::FAMILY {
            return None;
        }
        let settings = options.applied(&self.settings).ok()?;
        let splits = settings.split_k.as_ref()?.value;
        nvjet::dropped_remainder(k, nvjet::grain(&settings)?, splits)
    }
}
