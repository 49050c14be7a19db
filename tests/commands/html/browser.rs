//! The page in headless Chromium, where there is one: `TCVERIFY_CHROMIUM`, or `chromium` on the path.

use std::ffi::OsString;
use std::process::Command;

use super::{folder, page};
use crate::support::{Folder, Run};

/// What the browser makes of a page: the document after its script has run, and what it logged.
fn shown(folder: &Folder, name: &str) -> Option<Run> {
    let browser = std::env::var_os("TCVERIFY_CHROMIUM").filter(|name| !name.is_empty());
    let given = browser.is_some();
    let browser = browser.unwrap_or_else(|| OsString::from("chromium"));
    let found = Command::new(&browser).arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        assert!(!given, "TCVERIFY_CHROMIUM names no browser that starts");
        println!("SKIPPED: no Chromium was found, so no browser has shown the page");
        return None;
    }
    let profile = tempfile::TempDir::new().unwrap();
    let mut command = folder.shell(browser.to_str().expect("a plain name"));
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("file://{}", folder.path(name).display()));
    Some(folder.run(&mut command).expect(0))
}

/// Lines that a page wrote to the console, errors among them.
fn complaints(run: &Run) -> Vec<&str> {
    run.stderr
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect()
}

#[test]
fn the_script_draws_without_an_error() {
    let folder = folder(&|i, j| i % 128 == 5 || (i < 64 && j >= 320));
    page(&folder, 1);
    let Some(run) = shown(&folder, "page.html") else {
        return;
    };
    assert_eq!(complaints(&run), [""; 0]);
    // 4 rows of 384 and 64 x 64, less the 64 in both; bins of 2 x 2: 4 x 192, and 32 x 32 less 32.
    for text in [
        "5,568 mismatches in 1,760 of 49,152 squares; at most 4 in one",
        "<div id=\"map\" class=\"map\">",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    // The script gave it the size of what it drew.
    assert!(run.stdout.contains("style=\"height: "), "{}", run.stdout);
}

#[test]
fn an_identical_page_has_no_error_either() {
    let folder = folder(&|_, _| false);
    page(&folder, 0);
    if let Some(run) = shown(&folder, "page.html") {
        assert_eq!(complaints(&run), [""; 0]);
        assert!(run.stdout.contains("All 196,608 elements"));
    }
}

/// Otherwise the tests above would prove nothing.
#[test]
fn an_error_would_be_seen() {
    let folder = folder(&|i, _| i == 0);
    let good = page(&folder, 1);
    let broken = good.replace("const pen = ", "const pen = nothing.there || ");
    assert_ne!(good, broken);
    folder.write("broken.html", broken);
    let loading = good.replace("<main>", "<main><img src=\"http://127.0.0.1:9/x.png\">");
    folder.write("loading.html", loading);
    if let Some(run) = shown(&folder, "broken.html") {
        assert!(!complaints(&run).is_empty());
    }
    // The page forbids itself to load anything.
    if let Some(run) = shown(&folder, "loading.html") {
        let complaints = complaints(&run).join("\n");
        assert!(
            complaints.contains("Content Security Policy"),
            "{complaints}"
        );
    }
}

/// What a person would do with the map; the page says what is under the pointer.
#[test]
fn the_map_answers_to_keys_wheel_and_pointer() {
    let folder = folder(&|i, j| i % 128 == 5 || (i < 64 && j >= 320));
    let page = page(&folder, 1);
    let script = "
        const map = document.getElementById('heat'), said = [];
        const say = () => said.push(document.getElementById('map-cell').textContent);
        const key = (key) => map.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }));
        map.focus();
        for (const name of ['ArrowRight', 'ArrowDown', 'ArrowDown']) key(name);
        say();
        for (const name of ['+', '+', '-', 'ArrowLeft', 'ArrowUp', '=', '0']) key(name);
        const box = map.getBoundingClientRect();
        const at = { clientX: box.left + 60, clientY: box.top + 60, ctrlKey: true, cancelable: true, deltaY: -200 };
        map.dispatchEvent(new WheelEvent('wheel', at));
        map.dispatchEvent(new MouseEvent('dblclick', at));
        map.dispatchEvent(new PointerEvent('pointermove', { ...at, pointerType: 'mouse', pointerId: 1 }));
        for (const button of document.querySelectorAll('#map button')) button.click();
        key('Escape');
        say();
        document.body.append(said.join(' / '));
    ";
    let driven = page.replace("</body>", &format!("<script>{script}</script></body>"));
    folder.write("driven.html", driven);
    if let Some(run) = shown(&folder, "driven.html") {
        assert_eq!(complaints(&run), [""; 0]);
        let said = "row 4\u{2013}5, column 0\u{2013}1: 2 of 4 differ (50.0 %) / 5,568 mismatches in 1,760 of 49,152 \
                    squares; at most 4 in one";
        assert!(run.stdout.contains(said), "{}", run.stdout);
    }
}
