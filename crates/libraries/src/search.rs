//! A search over what a text leaves open: plans to test against a captured D.

use super::family::COMPARED;
use super::{KernelError, KernelReading, Options, Plan, Scheme, Shape, multiprocessors};

/// Most slices that are tried.
const MAX_SPLITS: usize = 64;

impl KernelReading {
    /// Plans for every answer to what the text and these options leave open, each order once, common ones
    /// first. What was tried is marked as found in the plan's settings.
    ///
    /// # Errors
    /// If something is open that is not searched (formats), or no answer leads to a plan.
    pub fn candidates(&self, shape: &Shape, options: &Options) -> Result<Vec<Plan>, KernelError> {
        let mut plans = Vec::new();
        let mut last = None;
        self.collect(shape, options, &mut plans, &mut last)?;
        match (plans.is_empty(), last) {
            (true, Some(error)) => Err(error),
            _ => Ok(plans),
        }
    }

    fn collect(
        &self,
        shape: &Shape,
        options: &Options,
        plans: &mut Vec<Plan>,
        last: &mut Option<KernelError>,
    ) -> Result<(), KernelError> {
        let ask = match self.plan(shape, options) {
            Ok(plan) => {
                let same = |other: &Plan| {
                    other.slices == plan.slices
                        && other.merge == plan.merge
                        && other.tile == plan.tile
                        && other.order == plan.order
                };
                if !plans.iter().any(same) {
                    plans.push(plan);
                }
                return Ok(());
            }
            Err(KernelError::Missing { ask, .. }) => ask,
            Err(error) => {
                *last = Some(error);
                return Ok(());
            }
        };
        let tries = self.tries(ask, shape, options)?;
        if tries.is_empty() || options.found.contains(&ask) {
            // Nothing to try: the request must give it.
            return self.plan(shape, options).map(drop);
        }
        for mut options in tries {
            options.found.push(ask);
            self.collect(shape, &options, plans, last)?;
        }
        Ok(())
    }

    /// These options with each answer to what is open.
    fn tries(
        &self,
        ask: &str,
        shape: &Shape,
        options: &Options,
    ) -> Result<Vec<Options>, KernelError> {
        fn each<T>(
            options: &Options,
            values: impl IntoIterator<Item = T>,
            set: impl Fn(&mut Options, T),
        ) -> Vec<Options> {
            let answered = |value| {
                let mut options = options.clone();
                set(&mut options, value);
                options
            };
            values.into_iter().map(answered).collect()
        }
        let family = self.family.value;
        let settings = options.applied(&self.settings_for(*shape))?;
        Ok(match ask {
            "split-k" => {
                let first = (family.fewest_slices)(&settings);
                let most = MAX_SPLITS.min(shape.k);
                let counts = first..=most.max(first);
                each(options, counts, |o, count| o.split_k = Some(count))
            }
            "reduction" => {
                let schemes = [Scheme::Inplace, Scheme::OutputType, Scheme::ComputeType];
                each(options, schemes, |o, scheme| o.scheme = Some(scheme))
            }
            "accumulation" => each(options, [true, false], |o, fast| {
                o.fast_accumulation = Some(fast);
            }),
            "tile-k" => each(options, [64, 32, 128], |o, k| o.tile_k = Some(k)),
            "multiprocessors" => {
                let gpus = match options.capability {
                    Some(gpu) => vec![gpu],
                    None => options.one_of.clone(),
                };
                each(options, multiprocessors::tried(&gpus), |o, count| {
                    o.multiprocessors = Some(count);
                })
            }
            "custom" => each(options, family.tried_customs.clone(), |o, custom| {
                o.custom = Some(custom);
            }),
            "arch" => {
                // The request may narrow it down to a few.
                let known = &options.one_of;
                let gpus = if known.is_empty() {
                    &COMPARED[..]
                } else {
                    known
                };
                each(options, gpus, |o, gpu| o.capability = Some(*gpu))
            }
            _ => Vec::new(),
        })
    }
}
