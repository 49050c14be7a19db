//! Signals while something is being written.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{LONG, temporary};
use crate::support::Folder;

fn start(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command();
    command.args(arguments.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn send(child: &Child, signal: Signal) {
    let id = Pid::from_raw(child.id().try_into().expect("a process number"));
    kill(id, signal).expect("it still runs, or nobody has waited for it");
}

/// Waits until there are as many temporary files or folders.
fn wait_for(folder: &Folder, child: &mut Child, count: usize) {
    let start = Instant::now();
    while temporary(folder).len() < count {
        assert!(child.try_wait().unwrap().is_none(), "ended too soon");
        assert!(start.elapsed() < Duration::from_secs(60), "writes nothing");
    }
}

/// Whether this process, and so a program it starts, ignores a signal: as under `nohup`.
fn ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

#[test]
fn asked_to_end() {
    let one = format!("replay {LONG} -o d.npy");
    let three = format!("check {LONG} d.npy --json x.json --html x.html --junit x.xml");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        if ignored(signal) {
            continue; // By whoever runs the tests, so by what they start.
        }
        for (arguments, count) in [(&one, 1), (&three, 3)] {
            let folder = Folder::new();
            folder.passes("generate generate:1:normal:64x64 --dtype fp32 --role c -o d.npy");
            let old = folder.read("d.npy");
            let mut child = start(&folder, arguments);
            wait_for(&folder, &mut child, count);
            send(&child, signal);
            let status = child.wait().unwrap();
            assert_eq!(
                status.signal(),
                Some(signal as i32),
                "{signal}: {arguments}"
            );
            assert_eq!(folder.names(), ["d.npy"], "{signal}: {arguments}");
            assert_eq!(folder.read("d.npy"), old);
        }
    }
}

/// Whoever starts it with `nohup` means it.
#[test]
fn hung_up_on_but_told_not_to_care() {
    let folder = Folder::new();
    let script = format!(
        "trap '' HUP; \"$0\" replay {} -o d.npy & sleep 0.2; kill -HUP $!; wait $!",
        LONG.replace("40000", "4000")
    );
    let mut shell = folder.shell("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_tcverify")]);
    folder.run(&mut shell).expect(0);
    assert_eq!(folder.names(), ["d.npy"]);
}

/// Killed at any moment: what has the name is whole, and the next run clears what is left.
#[test]
fn killed() {
    let folder = Folder::new();
    let replay = "replay --arch ampere --dtype fp16 generate:1:normal:600x8 generate:2:normal:8x600 -o d.npy";
    folder.passes(replay);
    let new = folder.read("d.npy");
    let whole = Instant::now();
    folder.passes(replay);
    let whole = whole.elapsed();

    let mut killed = 0;
    let mut left = 0;
    for i in 0..40u32 {
        folder.write("d.npy", "old");
        let before = temporary(&folder);
        let mut child = start(&folder, replay);
        sleep(whole * (i % 20) / 18);
        send(&child, Signal::SIGKILL);
        killed += u32::from(child.wait().unwrap().signal().is_some());
        let d = folder.read("d.npy");
        assert!(d == new || d == b"old", "{} bytes of D", d.len());
        let after = temporary(&folder);
        assert!(after.len() <= before.len() + 1, "{after:?}");
        left += u32::from(!after.is_empty());
    }
    println!("{killed} of 40 were killed, and left {left} temporary files");
    assert!(killed > 5);
    folder.passes(replay);
    assert_eq!(folder.names(), ["d.npy"]);
    assert_eq!(folder.read("d.npy"), new);
}

/// The next run takes nothing away from one that still runs.
#[test]
fn two_at_a_time() {
    let folder = Folder::new();
    let mut child = start(&folder, &format!("replay {LONG} -o slow.npy"));
    wait_for(&folder, &mut child, 1);
    let before = temporary(&folder);
    folder.passes("generate generate:1:normal:4x4 --dtype fp16 --role a -o a.npy");
    assert_eq!(temporary(&folder), before);
    send(&child, Signal::SIGTERM);
    child.wait().unwrap();
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn a_folder_of_probes() {
    let folder = Folder::new();
    let whole = Instant::now();
    folder.passes("probe --dtype fp16 -o probes");
    let whole = whole.elapsed();
    std::fs::remove_dir_all(folder.path("probes")).unwrap();
    for i in 0..20 {
        let mut child = start(&folder, "probe --dtype fp16 -o probes");
        sleep(whole * i / 18);
        send(&child, Signal::SIGTERM);
        child.wait().unwrap();
        assert!(temporary(&folder).is_empty(), "{i}: {:?}", folder.names());
        if folder.path("probes").exists() {
            assert!(folder.path("probes/manifest.json").exists());
            std::fs::remove_dir_all(folder.path("probes")).unwrap();
        }
    }
}
