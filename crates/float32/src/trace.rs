//! What happens, written down.

use std::fmt;
use std::sync::Mutex;

use serde::Serialize;

use super::{Arith, Function, Ops};
use crate::num::{Format, decimal};

/// One operation, or what the next ones are for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Event {
    Stage {
        text: String,
    },
    Operation {
        /// `add`, `mul`, `fma`, `div`, `sqrt`, `MUFU.EX2`, `round to bf16`, ...
        name: String,
        /// Codes in hexadecimal.
        operands: Vec<String>,
        result: String,
        /// In decimal.
        value: String,
        /// The element of the row that it is for, if it is for one alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        column: Option<usize>,
    },
    /// What the tensor core computed, or a maximum.
    Value {
        text: String,
        result: String,
        value: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        column: Option<usize>,
    },
}

/// Events in their order, as many as there is room for.
#[derive(Debug)]
pub struct Log {
    room: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<Event>,
    /// Those that found no room.
    lost: u64,
    /// Which element's turn it is.
    column: Option<usize>,
}

impl Log {
    pub fn with_room(room: usize) -> Log {
        Log {
            room,
            kept: Mutex::default(),
        }
    }

    fn push(&self, event: impl FnOnce(Option<usize>) -> Event) {
        let mut kept = self.kept.lock().expect("nobody panics with it");
        if kept.events.len() < self.room {
            let event = event(kept.column);
            kept.events.push(event);
        } else {
            kept.lost += 1;
        }
    }

    fn turn(&self, column: Option<usize>) {
        self.kept.lock().expect("nobody panics with it").column = column;
    }

    /// The events, and how many found no room.
    pub fn finish(self) -> (Vec<Event>, u64) {
        let kept = self.kept.into_inner().expect("nobody panics with it");
        (kept.events, kept.lost)
    }
}

/// An arithmetic that is watched.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<'l, A> {
    pub inner: A,
    pub log: &'l Log,
}

impl<A> Tracing<'_, A> {
    fn record(self, name: &str, operands: &[u32], (result, format): (u64, Format)) {
        self.log.push(|column| Event::Operation {
            name: name.to_owned(),
            operands: operands.iter().map(|x| format!("{x:08x}")).collect(),
            result: format!("{result:0width$x}", width = 2 * format.bytes()),
            value: decimal(format, result),
            column,
        });
    }

    fn seen(self, name: &str, operands: &[u32], result: u32) -> u32 {
        self.record(name, operands, (result.into(), Format::Fp32));
        result
    }
}

impl<A: Arith> Ops for Tracing<'_, A> {
    fn add(self, x: u32, y: u32) -> u32 {
        self.seen("add", &[x, y], self.inner.add(x, y))
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        self.seen("mul", &[x, y], self.inner.mul(x, y))
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        self.seen("fma", &[x, y, z], self.inner.fma(x, y, z))
    }

    fn round(self, x: u32, to: Format) -> u64 {
        let result = self.inner.round(x, to);
        if to != Format::Fp32 {
            self.record(&format!("round to {to}"), &[x], (result, to));
        }
        result
    }

    fn widen(self, code: u64, from: Format) -> u32 {
        self.inner.widen(code, from)
    }
}

impl<A: Arith> Arith for Tracing<'_, A> {
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32 {
        self.seen("fma.rm", &[x, y, z], self.inner.fma_down(x, y, z))
    }

    fn div(self, x: u32, y: u32) -> u32 {
        self.seen("div", &[x, y], self.inner.div(x, y))
    }

    fn sqrt(self, x: u32) -> u32 {
        self.seen("sqrt", &[x], self.inner.sqrt(x))
    }

    fn mufu(self, function: Function, x: u32) -> u32 {
        self.seen(function.name(), &[x], self.inner.mufu(function, x))
    }

    fn column(self, column: usize) {
        self.log.turn(Some(column));
    }

    fn noted(self, what: impl FnOnce() -> String, code: u32) {
        self.log.push(|column| Event::Value {
            text: what(),
            result: format!("{code:08x}"),
            value: decimal(Format::Fp32, code.into()),
            column,
        });
    }

    fn stage(self, what: fmt::Arguments) {
        self.log.turn(None);
        self.log.push(|_| Event::Stage {
            text: what.to_string(),
        });
    }
}
