//! Which platform computes: the fastest whose kernel gives what the portable one gives.

use std::sync::RwLock;

use tcverify_num::Formats;

use super::config::KernelConfig;
use super::platform::Platform;
use super::selftest;

impl Platform {
    /// The fastest that this machine has, or the one that `TCVERIFY_SIMD` names.
    ///
    /// # Errors
    /// If that names one that this machine lacks.
    pub fn detect() -> Result<Platform, String> {
        let available = Platform::available();
        let Some(name) = named() else {
            return Ok(*available.last().expect("there is the portable one"));
        };
        let found = available.iter().find(|platform| platform.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = available.iter().map(|p| p.name()).collect();
            let variable = Platform::VARIABLE;
            format!(
                "{variable} is {name:?}, but this machine has only {}",
                names.join(", ")
            )
        })
    }

    /// The platform to compute with: this one, or the fastest slower one, if its kernel has passed a self-test.
    /// Every kernel is tested once a process, when it is about to be used.
    ///
    /// # Errors
    /// If `TCVERIFY_SIMD` names this one, and its kernel fails.
    pub fn vouched(self, plan: &KernelConfig, formats: Formats) -> Result<Platform, String> {
        if passes(self, plan, formats) {
            return Ok(self);
        }
        if named().is_some_and(|name| name == self.name()) {
            let name = self.name();
            return Err(format!(
                "the {name} kernel fails its self-test on this machine"
            ));
        }
        let available = Platform::available();
        let slower = available.into_iter().take_while(|other| *other != self);
        let mut sound = slower.collect::<Vec<_>>().into_iter().rev();
        let found = sound.find(|platform| passes(*platform, plan, formats));
        found.ok_or_else(|| "no kernel passes its self-test".to_owned())
    }
}

/// The platform that the environment names.
fn named() -> Option<String> {
    std::env::var(Platform::VARIABLE).ok()
}

/// Whether a kernel computes on a platform what it computes on the portable one.
fn passes(platform: Platform, plan: &KernelConfig, formats: Formats) -> bool {
    type Tested = (Platform, KernelConfig, Formats, bool);
    static TESTED: RwLock<Vec<Tested>> = RwLock::new(Vec::new());

    let portable = Platform::available()[0];
    if platform == portable {
        return true;
    }
    let known = |tested: &Tested| tested.0 == platform && tested.1 == *plan && tested.2 == formats;
    let found = |tested: &[Tested]| tested.iter().find(|t| known(t)).map(|t| t.3);
    let before = found(&TESTED.read().expect("nothing panics with it"));
    before.unwrap_or_else(|| {
        // Without the lock: no thread waits for another's test, and two at once only do it twice.
        let passed = selftest::agree(plan, formats, [platform, portable]);
        let mut tested = TESTED.write().expect("nothing panics with it");
        if found(&tested).is_none() {
            tested.push((platform, plan.clone(), formats, passed));
        }
        passed
    })
}
