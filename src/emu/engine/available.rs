//! Who can compute besides the exact engine. Whoever runs checks says so.

use std::fmt::Debug;

use super::{Engine, FastEngine};
use crate::{Arithmetic, Problem};

/// A device that is ready. It becomes an engine with one of the CPU for what it does not compute, and a seed that nobody knew
/// when D was made: that draws what the CPU computes again.
pub type OpenedDevice = Box<dyn FnOnce(Engine<'static>, u64) -> Box<dyn FastEngine>>;

/// The engines of a program on this machine.
pub trait Engines: Debug + Sync {
    /// Whether a fast engine of the CPU computes products of a model.
    fn computes(&self, arithmetic: &Arithmetic) -> bool;

    /// The fastest engine of the CPU; of those that are sound for a model, if one is given.
    ///
    /// # Errors
    /// If the user names one that this machine lacks, or that fails its self-test.
    fn fast(&self, arithmetic: Option<&Arithmetic>) -> Result<Engine<'static>, String>;

    /// The device of this number, or the first.
    ///
    /// # Errors
    /// If there is none, or its driver refuses.
    fn device(&self, number: Option<u8>) -> Result<OpenedDevice, String>;

    /// The device that computes a product, of so many chains over its K, sooner than the CPU, if there is one.
    fn sooner(&self, _: &Arithmetic, _: &Problem, _chains: usize) -> Option<OpenedDevice> {
        None
    }
}

/// The exact engine and no other.
#[derive(Clone, Copy, Debug)]
pub struct ExactAlone;

impl Engines for ExactAlone {
    fn computes(&self, _: &Arithmetic) -> bool {
        false
    }

    fn fast(&self, _: Option<&Arithmetic>) -> Result<Engine<'static>, String> {
        Ok(Engine::Exact)
    }

    fn device(&self, _: Option<u8>) -> Result<OpenedDevice, String> {
        Err("this program computes with the exact engine alone".to_owned())
    }
}
