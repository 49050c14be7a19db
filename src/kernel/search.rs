//! What a text leaves open, tried out: plans to test against a captured D.

use super::{
    Capability, Family, KernelError, KernelReading, Options, Plan, Scheme, Settings, Shape,
};

/// Most slices that are tried.
const MAX_SPLITS: usize = 64;

impl KernelReading {
    /// Plans for every answer to what the text and these options leave open, each order once, common ones
    /// first. What was tried is marked as found in the plan's settings.
    ///
    /// # Errors
    /// If something is open that is not searched (formats), or that no answer makes a plan of.
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
        let settings = options.applied(&self.settings)?;
        let mut answers = answers(ask, self.family.value, &settings, shape);
        if ask == "arch" && !options.one_of.is_empty() {
            // It is known to be one of these.
            let gpus = options.one_of.iter().copied();
            answers = gpus
                .map(|gpu| Box::new(move |o: &mut Options| o.capability = Some(gpu)) as Answer)
                .collect();
        }
        if answers.is_empty() {
            // Nothing to try: whoever asks has to say it.
            return self.plan(shape, options).map(drop);
        }
        for answer in answers {
            let mut options = options.clone();
            answer(&mut options);
            options.found.push(ask);
            self.collect(shape, &options, plans, last)?;
        }
        Ok(())
    }
}

type Answer = Box<dyn Fn(&mut Options)>;

fn answers(ask: &str, family: &Family, settings: &Settings, shape: &Shape) -> Vec<Answer> {
    fn each<T: Copy + 'static>(
        values: impl IntoIterator<Item = T>,
        set: impl Fn(&mut Options, T) + Copy + 'static,
    ) -> Vec<Answer> {
        let answer =
            |value: T| Box::new(move |options: &mut Options| set(options, value)) as Answer;
        values.into_iter().map(answer).collect()
    }
    match ask {
        "split-k" => {
            let first = (family.own.fewest_slices)(settings);
            let most = MAX_SPLITS.min(shape.k);
            each(first..=most.max(first), |o, count| o.split_k = Some(count))
        }
        "reduction" => {
            let schemes = [Scheme::Inplace, Scheme::OutputType, Scheme::ComputeType];
            each(schemes, |o, scheme| o.scheme = Some(scheme))
        }
        "accumulation" => each([true, false], |o, fast| o.fast_accumulation = Some(fast)),
        "tile-k" => each([64, 32, 128], |o, k| o.tile_k = Some(k)),
        "custom" => each(family.own.tried_customs.clone(), |o, custom| {
            o.custom = Some(custom)
        }),
        "arch" => {
            let gpus = [(9, 0), (10, 0), (10, 3)].map(|(x, y)| Capability::new(x, y));
            each(gpus, |o, gpu| o.capability = Some(gpu))
        }
        _ => Vec::new(),
    }
}
