//! The handlers. Whatever they call is async-signal-safe (POSIX.1-2017, 2.4.3): `write`, `unlink`,
//! `rmdir`, `raise`, `_exit`, and atomics that never lock.

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use nix::libc::{self, siginfo_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Names at a time. One more is not removed by a signal, that is all.
const MAX_FILES: usize = 64;

/// C strings. Whoever swaps one out owns it.
static NAMES: [AtomicPtr<c_char>; MAX_FILES] = [const { AtomicPtr::new(null_mut()) }; MAX_FILES];

const TRUNCATED: &[u8] =
    b"error: an input file was truncated, or became unreadable, while it was being read; no \
verdict; run again when nothing writes to it\n";

/// A name's place among [`NAMES`].
#[derive(Debug)]
pub struct Slot(&'static AtomicPtr<c_char>);

impl Slot {
    pub fn take(path: &Path) -> Option<Slot> {
        // The handler must find it even if the working directory changes, and no path has a NUL.
        let path = std::path::absolute(path).ok()?;
        let name = CString::new(path.as_os_str().as_bytes()).ok()?.into_raw();
        let free = |slot: &&AtomicPtr<c_char>| {
            let taken =
                slot.compare_exchange(null_mut(), name, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        let slot = NAMES.iter().find(free);
        if slot.is_none() {
            free_name(name);
        }
        slot.map(Slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Null if the handler was faster; then the process is about to end.
        free_name(self.0.swap(null_mut(), Ordering::AcqRel));
    }
}

fn free_name(name: *mut c_char) {
    if !name.is_null() {
        // SAFETY: every name comes from `CString::into_raw`, and whoever holds one that is in no slot
        // is its only owner.
        drop(unsafe { CString::from_raw(name) });
    }
}

pub fn install() {
    let bus = SigHandler::SigAction(on_bus_error);
    set(Signal::SIGBUS, bus);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        set(signal, SigHandler::Handler(on_end));
    }
    // A write beyond the limit on file sizes is then an error like any other.
    set(Signal::SIGXFSZ, SigHandler::SigIgn);
}

/// Sets a handler, unless whoever started this process wants the signal ignored (`nohup`).
fn set(signal: Signal, handler: SigHandler) {
    // Handlers run once only: after that the signal does what it does by default. On the stack that the standard
    // library keeps for signals, should the usual one be full.
    let flags = SaFlags::SA_RESETHAND | SaFlags::SA_ONSTACK | SaFlags::SA_NODEFER;
    let action = SigAction::new(handler, flags, SigSet::empty());
    // SAFETY: the handlers call nothing that is not async-signal-safe, touch no state but atomics, and
    // never return into code that could see a half-done change: they change nothing of this program's.
    let before = unsafe { sigaction(signal, &action) };
    if let Ok(before) = before
        && matches!(before.handler(), SigHandler::SigIgn)
    {
        // SAFETY: as it was.
        let _ = unsafe { sigaction(signal, &before) };
    }
}

/// A page of a mapping that the file no longer has.
extern "C" fn on_bus_error(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system passes a valid record to a handler with SA_SIGINFO.
    let code = unsafe { (*info).si_code };
    if code != libc::BUS_ADRERR {
        // Broken hardware, or a bug: the instruction runs again and the process dies as it should.
        return;
    }
    remove_all();
    // SAFETY: the buffer is valid for its length. If nobody reads the sentence, the exit code is left.
    unsafe { libc::write(2, TRUNCATED.as_ptr().cast(), TRUNCATED.len()) };
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(2) }
}

/// Interrupted, terminated or hung up on: cleans up, then ends as if there were no handler, so that
/// whoever waits sees why.
extern "C" fn on_end(signal: c_int) {
    remove_all();
    // SAFETY: a plain call; the handler is reset already, and the signal not blocked.
    unsafe { libc::raise(signal) };
}

/// Removes whatever is named, files before folders.
fn remove_all() {
    let mut folders = [null_mut::<c_char>(); MAX_FILES];
    for (slot, folder) in NAMES.iter().zip(&mut folders) {
        let name = slot.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: a C string that this function owns now, and does not free.
        if !name.is_null() && unsafe { libc::unlink(name) } != 0 {
            *folder = name;
        }
    }
    for folder in folders {
        if !folder.is_null() {
            // SAFETY: likewise. Of what is not a folder, or gone, nothing comes.
            unsafe { libc::rmdir(folder) };
        }
    }
}
