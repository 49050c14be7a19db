//! The page in headless Chromium, where there is one: `TCVERIFY_CHROMIUM`, or `chromium` on the path.

use std::ffi::OsString;
use std::process::Command;

use super::{folder, page};
use crate::support::{Folder, Run, Says, words};

/// What the browser makes of a page: the document after its script has run, and what it logged.
pub fn shown(folder: &Folder, name: &str) -> Option<Run> {
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
    command.args(words! {"
        --headless | --no-sandbox | --disable-gpu | --disable-quic | --no-first-run
        | --disable-background-networking | --disable-component-update | --disable-sync
        | --enable-logging=stderr | --v=0 | --virtual-time-budget=5000 | --dump-dom
    "});
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
    run.says_all(words! {r#"
        5,568 mismatches in 1,760 of 49,152 cells; at most 4 in one | <div id="map" class="map">
    "#});
    // The script gave it the size of what it drew.
    run.says("style=\"height: ");
}

#[test]
fn an_identical_page_has_no_error_either() {
    let folder = folder(&|_, _| false);
    page(&folder, 0);
    if let Some(run) = shown(&folder, "page.html") {
        assert_eq!(complaints(&run), [""; 0]);
        run.says("All 196,608 elements");
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
        complaints.says("Content Security Policy");
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
                    cells; at most 4 in one";
        assert!(run.stdout.contains(said), "{}", run.stdout);
    }
}

/// What a page is at the width of a phone: how far it is wider than that, and what else a script says of it.
fn on_a_phone(folder: &Folder, name: &str, page: &str, script: &str) -> Option<String> {
    let said = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let script = format!(
        "<script>addEventListener('load', () => {{ {script}; parent.postMessage('too wide by ' + ({said}) + '; ' + \
         (typeof more === 'undefined' ? '' : more), '*'); }})</script></body>"
    );
    folder.write(name, page.replace("</body>", &script));
    let wrapper = format!(
        "<!DOCTYPE html><body><iframe src=\"{name}\" style=\"border:0;width:375px;height:800px\"></iframe>\
         <script>addEventListener('message', (event) => document.body.append(event.data))</script></body>"
    );
    folder.write("phone.html", wrapper);
    let run = shown(folder, "phone.html")?;
    assert_eq!(complaints(&run), [""; 0], "{name}");
    Some(run.stdout)
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let folder = folder(&|i, j| i % 128 == 5 || (i < 64 && j >= 320));
    let page = page(&folder, 1);
    // The table of constants is read as a list there, each note as wide as the list.
    let script = "var note = [...document.querySelectorAll('.constants td:nth-child(5)')].filter((c) => c.textContent); \
                  var more = 'notes ' + (Math.min(...note.map((c) => c.clientWidth)) > 200)";
    if let Some(said) = on_a_phone(&folder, "one.html", &page, script) {
        said.says("too wide by 0; notes true");
        let wide = page.replace("<main>", "<main><div style=\"width:600px\">x</div>");
        let said = on_a_phone(&folder, "wide.html", &wide, "").unwrap();
        said.lacks("too wide by 0");
    }
    let cases = crate::batch::pages::every_kind();
    cases.fails("batch cases.json -q --html .");
    for name in words! {"index.html | case-001.html | case-002.html | case-003.html"} {
        let page = cases.text(name);
        if let Some(said) = on_a_phone(&cases, &format!("phone-{name}"), &page, "") {
            assert!(said.contains("too wide by 0"), "{name}: {said}");
        }
    }
}

#[test]
fn the_map_has_the_shape_of_d_and_its_colours_are_fixed() {
    let folder = folder(&|i, j| i < 64 && j < 64);
    let page = page(&folder, 1);
    page.says("&le; 0.1 %");
    page.says("of a cell differ");
    let script = "{
        const map = document.getElementById('heat'), pen = map.getContext('2d');
        const ratio = map.width / map.clientWidth, left = 8 + 7.2 * 3, top = 50;
        const dots = pen.getImageData(0, 0, map.width, map.height).data;
        const at = (x, y) => [...dots.slice(4 * (Math.round(y * ratio) * map.width + Math.round(x * ratio))).slice(0, 3)].join(',');
        // A line of the grid may shade it.
        const near = (text, wanted) => text.split(',').every((n, i) => Math.abs(n - wanted[i]) < 12);
        // 512 rows take 620 pixels, so 384 columns 465: right of them there is nothing.
        document.body.append('height ' + map.style.height + '; full ' + near(at(left + 40, top + 45), [58, 10, 61]) +
          '; none ' + at(left + 450, top + 600) + '; outside ' + at(left + 470, top + 600));
    }";
    let driven = page.replace("</body>", &format!("<script>{script}</script></body>"));
    folder.write("driven.html", driven);
    let Some(run) = shown(&folder, "driven.html") else {
        return;
    };
    assert_eq!(complaints(&run), [""; 0]);
    // #3a0a3d, the colour of a cell of which all differs; #eef1f6.
    let said = "height 692px; full true; none 238,241,246; outside 0,0,0";
    assert!(run.stdout.contains(said), "{}", run.stdout);
}

/// Pixels of the map in the colour of rings and labels.
const INK: &str = "
    const heat = document.getElementById('heat');
    const dots = heat.getContext('2d').getImageData(0, 0, heat.width, heat.height).data;
    let ink = 0;
    for (let i = 0; i < dots.length; i += 4) ink += dots[i] === 23 && dots[i + 1] === 32 && dots[i + 2] === 46 && dots[i + 3] === 255;
    document.body.append('ink ' + ink + '.');
";

fn ink(folder: &Folder, page: &str) -> Option<u32> {
    let script = format!("<script>{INK}</script></body>");
    folder.write("ink.html", page.replace("</body>", &script));
    let run = shown(folder, "ink.html")?;
    assert_eq!(complaints(&run), [""; 0]);
    let (_, count) = run.stdout.rsplit_once("'ink ' + ink + '.');").unwrap();
    let (_, count) = count.split_once("ink ").expect("counted");
    count.split('.').next().unwrap().parse().ok()
}

#[test]
fn a_lone_mismatch_is_ringed_and_labelled() {
    let folder = folder(&|i, j| (i, j) == (300, 77));
    let page = page(&folder, 1);
    let mark = "\"marks\":[{\"label\":\"[300, 77]\",\"rows\":[300,301],\"columns\":[77,78]}]";
    assert!(page.contains(mark), "{page}");
    page.says("1 mismatch in 1 of 49,152 cells");
    let Some(ringed) = ink(&folder, &page) else {
        return;
    };
    let bare = ink(&folder, &page.replace(mark, "\"marks\":[]")).unwrap();
    assert!(bare < 20 && ringed > bare + 300, "{ringed} {bare}");
}

/// Groups have the same numbers among the causes, on the map and in the list.
#[test]
fn groups_are_told_apart() {
    let folder = folder(&|i, j| (128..256).contains(&i) && (128..256).contains(&j));
    let mut d = folder.read("d.npy");
    let start = 10 + usize::from(u16::from_le_bytes([d[8], d[9]]));
    // Bit 17 of [3, 2].
    d[start + 4 * (3 * 384 + 2) + 2] ^= 2;
    folder.write("d.npy", d);
    let page = page(&folder, 1);
    let group =
        |n: u32| format!("<span class=\"badge\"><span class=\"unseen\">group </span>{n}</span>");
    page.says_all([
        format!("<p>{} Rows 128 to 255, columns 128 to 255", group(1)),
        format!("<th scope=\"row\">{} [3, 2]</th>", group(2)),
        format!("<th scope=\"row\">{} [128, 128]</th>", group(1)),
        "{\"label\":\"1\",\"rows\":[128,256],\"columns\":[128,256]},{\"label\":\"2\",\"rows\":[3,4],\"columns\":[2,3]}".to_owned(),
    ]);
    assert!(ink(&folder, &page).is_none_or(|ink| ink > 500));
}

#[test]
fn the_index_sorts_and_filters() {
    let folder = crate::batch::pages::every_kind();
    folder.fails("batch cases.json -q --html .");
    let page = folder.text("index.html");
    let script = "
        const said = [], rows = () => [...document.querySelectorAll('.cases tbody tr')].filter((row) => !row.hidden);
        const say = () => said.push(rows().map((row) => Number(row.dataset.place) + 1).join(''));
        const head = (n) => document.querySelectorAll('.cases thead button')[n].click();
        const only = (verdict) => document.querySelector(`[data-verdict=${verdict}]`).click();
        say();
        head(1); say();
        head(1); say();
        head(0); say();
        only('identical'); say();
        only('unjudged'); say();
        said.push(document.getElementById('shown').textContent);
        only('all'); say();
        const search = document.querySelector('.filter input');
        const look = (words) => { search.value = words; search.dispatchEvent(new Event('input')); };
        look('UNJUDGED'); say();
        look('nothing of the kind'); say();
        look(''); say();
        document.body.append('SAID ' + said.join(' / '));
    ";
    // The case with a hostile name comes first of all names.
    folder.write(
        "driven.html",
        page.replace("</body>", &format!("<script>{script}</script></body>")),
    );
    if let Some(run) = shown(&folder, "driven.html") {
        assert_eq!(complaints(&run), [""; 0]);
        let said = "SAID 35214 / 35214 / 14253 / 32154 / 14 / 5 / 1 of 5 cases shown / 32154 / 5 /  / 32154";
        assert!(run.stdout.contains(said), "{}", run.stdout);
    }
    // Without the script all of it is there to read.
    assert_eq!(page.matches("<tr class=").count(), 5);
    page.says("aria-label=\"Cases by verdict and text\" hidden>");
}
