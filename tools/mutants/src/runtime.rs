//! Put into the copy as `src/mutant.rs`: which mutant is on, by TCVERIFY_MUTANT; with TCVERIFY_REACHED, a file, none is,
//! and the numbers of those that are asked for are written there, once a process.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const NONE: u32 = u32::MAX - 2;
const RECORDING: u32 = u32::MAX - 1;
const UNREAD: u32 = u32::MAX;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// Whether a mutant is on; never in what is computed as the crate is built.
#[inline(always)]
pub const fn on(number: u32) -> bool {
    core::intrinsics::const_eval_select((number,), never, now)
}

const fn never(_number: u32) -> bool {
    false
}

#[inline]
fn now(number: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active < RECORDING {
        active == number
    } else {
        // Asked often, and by all threads: what they share is only read.
        (active == UNREAD || !REACHED[number as usize].load(Relaxed)) && otherwise(number)
    }
}

#[cold]
fn otherwise(number: u32) -> bool {
    if ACTIVE.load(Relaxed) == UNREAD {
        let one = std::env::var("TCVERIFY_MUTANT").ok().and_then(|number| number.parse().ok());
        let recording = std::env::var_os("TCVERIFY_REACHED").is_some();
        ACTIVE.store(one.unwrap_or(if recording { RECORDING } else { NONE }), Relaxed);
        return now(number);
    }
    if !REACHED[number as usize].swap(true, Relaxed) {
        let file = std::env::var_os("TCVERIFY_REACHED").expect("set when read");
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file can be written");
        file.write_all(format!("{number}\n").as_bytes()).expect("the file can be written");
    }
    false
}
