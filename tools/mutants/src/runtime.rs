//! Put into the copy as `crates/num/src/mutant.rs`: which mutant is on, by TCVERIFY_MUTANT; with TCVERIFY_REACHED, a file with a byte
//! for each, none is, and the bytes of those that are asked for are set there, by every process of a test.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const NONE: u32 = u32::MAX - 2;
const RECORDING: u32 = u32::MAX - 1;
const UNREAD: u32 = u32::MAX;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
/// What this process has set already: asked often, and by all threads, so that what they share is only read.
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
static SHARED: Mutex<Option<File>> = Mutex::new(None);

/// Whether a mutant is on; never in what is computed as the crate is built.
#[inline(always)]
pub const fn on(number: u32) -> bool {
    core::intrinsics::const_eval_select((number,), never, now)
}

const fn never(_number: u32) -> bool {
    false
}

#[inline(always)]
fn now(number: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    active == number || (active >= RECORDING && otherwise(number))
}

#[inline(never)]
fn otherwise(number: u32) -> bool {
    if REACHED[number as usize].load(Relaxed) {
        return false;
    }
    if ACTIVE.load(Relaxed) == UNREAD {
        let one = std::env::var("TCVERIFY_MUTANT").ok().and_then(|number| number.parse().ok());
        let recording = std::env::var_os("TCVERIFY_REACHED").is_some();
        ACTIVE.store(one.unwrap_or(if recording { RECORDING } else { NONE }), Relaxed);
        let active = ACTIVE.load(Relaxed);
        return active == number || (active == RECORDING && otherwise(number));
    }
    note(number);
    false
}

/// Set at once, not as the process ends: some are ended.
#[cold]
fn note(number: u32) {
    let mut shared = SHARED.lock().expect("no holder panics");
    if shared.is_none() {
        let file = std::env::var_os("TCVERIFY_REACHED").expect("set when read");
        *shared = Some(OpenOptions::new().write(true).open(file).expect("the file is there"));
    }
    // Processes of one test only ever set its bytes, each to one.
    let file = shared.as_ref().expect("just opened");
    file.write_all_at(&[1], number.into()).expect("the file can be written");
    REACHED[number as usize].store(true, Relaxed);
}
