//! The fleet as one page: nothing is loaded from anywhere.

use std::io::{self, Write};

use super::fleet::{Condition, Fleet, Gpu};
use super::show::{called, counts, words};
use crate::io::{deceives, escaped};

const STYLE: &str = include_str!("page.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn page(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let faulty = fleet.faulty().count();
    let all_right = fleet.gpus.iter().all(|gpu| gpu.condition.right());
    let title = match faulty {
        0 if !all_right => "GPUs to be looked at".to_owned(),
        0 => format!("No faulty GPU among {}", fleet.gpus.len()),
        1 => format!("1 of {} GPUs computes wrong", fleet.gpus.len()),
        n => format!("{n} of {} GPUs compute wrong", fleet.gpus.len()),
    };
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )?;
    let simulated = fleet.gpus.iter().filter(|gpu| gpu.device.simulated).count();
    writeln!(
        out,
        "<p>Suite: {} {}, {} products, <code>{}</code>{}</p>",
        html(&fleet.arch),
        html(&fleet.level),
        fleet.products,
        fleet.suite,
        match simulated {
            0 => String::new(),
            n => format!(
                ". <strong>{n} of these GPUs are simulated: no GPU computed anything.</strong>"
            ),
        }
    )?;
    out.write_all(b"<ul class=\"legend\">\n")?;
    for (condition, count) in counts(fleet) {
        let class = class(condition);
        writeln!(
            out,
            "<li><span class=\"cell {class}\" aria-hidden=\"true\"></span>{count} {}</li>",
            words(condition)
        )?;
    }
    out.write_all(b"</ul>\n<section aria-labelledby=\"fleet\">\n<h2 id=\"fleet\">Fleet</h2>\n<div class=\"grid\">\n")?;
    for (i, gpu) in fleet.gpus.iter().enumerate() {
        let (class, name, short) = (class(gpu.condition), html(&called(gpu)), short(gpu));
        let condition = words(gpu.condition);
        match gpu.condition.right() {
            true => writeln!(
                out,
                "<span class=\"gpu {class}\" title=\"{name}: {condition}\">{short}</span>"
            )?,
            false => writeln!(
                out,
                "<a class=\"gpu {class}\" href=\"#gpu{i}\" title=\"{name}: {condition}\">{short}</a>"
            )?,
        }
    }
    out.write_all(b"</div>\n</section>\n")?;
    for (i, gpu) in fleet.gpus.iter().enumerate() {
        if !gpu.condition.right() {
            details(i, gpu, out)?;
        }
    }
    table(fleet, out)?;
    out.write_all(
        b"<footer>Written by tcverify. A clean GPU gave the right bits for these products, at these temperatures, on the SMs \
          that ran; it may still be wrong for others.</footer>\n</main>\n</body>\n</html>\n",
    )
}

fn details(i: usize, gpu: &Gpu, out: &mut dyn Write) -> io::Result<()> {
    let wrong = &gpu.wrong;
    let device = &gpu.device;
    write!(
        out,
        "<section class=\"details\" aria-labelledby=\"gpu{i}\">\n<h2 id=\"gpu{i}\">{} <span class=\"tag {}\">{}</span></h2>\n<p>{}</p>\n",
        html(&called(gpu)),
        class(gpu.condition),
        words(gpu.condition),
        html(&gpu.said)
    )?;
    let mut facts = vec![
        ("device", device.name.clone()),
        ("architecture", device.architecture.clone()),
        (
            "compared",
            format!("{} results, {} wrong", gpu.compared, gpu.wrong_results),
        ),
    ];
    facts.extend(device.uuid.clone().map(|uuid| ("UUID", uuid)));
    facts.extend(device.driver.clone().map(|driver| ("driver", driver)));
    if let Some([low, high]) = wrong.temperature_c {
        let all = gpu.readings.as_ref().map(|r| r.temperature_c);
        let all = all.map_or(String::new(), |[low, high]| {
            format!(", of a run at {low} to {high} °C")
        });
        facts.push(("wrong at", format!("{low} to {high} °C{all}")));
    }
    if let Some(first) = &wrong.first {
        facts.push((
            "first",
            format!(
                "{}, tile {}, element [{}, {}]: {} instead of {}",
                first.product, first.tile, first.row, first.column, first.given, first.right
            ),
        ));
    }
    if !gpu.products_wrong.is_empty() {
        let shown: Vec<_> = gpu
            .products_wrong
            .iter()
            .take(5)
            .map(String::as_str)
            .collect();
        let more = gpu.products_wrong.len().saturating_sub(5);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        facts.push(("products", format!("{}{more}", shown.join(", "))));
    }
    for case in gpu.cases.iter().take(3) {
        facts.push(("case", case.clone()));
    }
    out.write_all(b"<dl>\n")?;
    for (name, value) in facts {
        writeln!(out, "<dt>{name}</dt><dd>{}</dd>", html(&value))?;
    }
    out.write_all(b"</dl>\n")?;
    if wrong.elements > 0 {
        out.write_all(b"<div class=\"charts\">\n")?;
        let most = wrong
            .sms
            .iter()
            .map(|(sm, _)| *sm as usize + 1)
            .max()
            .unwrap_or(0);
        let sms: Vec<u64> = counted(
            most.max(wrong.sms_seen).min(1024),
            wrong.sms.iter().map(|&(sm, n)| (sm as usize, n)),
        );
        if !wrong.sms.is_empty() {
            cells("Wrong results by SM", "sm", &sms, out)?;
        }
        let lanes = counted(32, wrong.lanes.iter().copied());
        cells("Wrong elements by lane", "lane", &lanes, out)?;
        bars(wrong, out)?;
        out.write_all(b"</div>\n")?;
    }
    out.write_all(b"</section>\n")
}

/// A GPU in few letters: its host without the domain, whose beginning gives way where there is no room, and its number.
fn short(gpu: &Gpu) -> String {
    let host = gpu.device.host.split('.').next().unwrap_or_default();
    format!(
        "<span><bdi>{}</bdi></span>/{}",
        html(host),
        gpu.device.index
    )
}

/// Counts by number.
fn counted(most: usize, counts: impl Iterator<Item = (usize, u64)>) -> Vec<u64> {
    let mut all = vec![0; most];
    for (at, count) in counts {
        if let Some(cell) = all.get_mut(at) {
            *cell += count;
        }
    }
    all
}

/// A cell a number, those that count something dark.
fn cells(title: &str, what: &str, counts: &[u64], out: &mut dyn Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    write!(
        out,
        "<figure><figcaption>{title}</figcaption><div class=\"cells {what}s\">"
    )?;
    for (number, count) in counts.iter().enumerate() {
        match count {
            0 => write!(out, "<i title=\"{what} {number}: right\"></i>")?,
            n => write!(out, "<b title=\"{what} {number}: {n}\">{number}</b>")?,
        }
    }
    out.write_all(b"</div></figure>\n")
}

/// Bits of D that differ: ones that should be zeros, and zeros that should be ones.
fn bars(wrong: &super::fleet::Wrong, out: &mut dyn Write) -> io::Result<()> {
    let width = wrong
        .bits
        .iter()
        .map(|(bit, _, _)| bit + 1)
        .max()
        .unwrap_or(0)
        .max(32);
    let most = wrong
        .bits
        .iter()
        .map(|(_, ones, zeros)| ones + zeros)
        .max()
        .unwrap_or(1);
    write!(
        out,
        "<figure><figcaption>Bits of D that differ (strong: 1 for 0, faint: 0 for 1)</figcaption>\
         <svg viewBox=\"0 0 {} 88\" role=\"img\" aria-label=\"bits of D that differ\">",
        width * 12
    )?;
    for (bit, ones, zeros) in &wrong.bits {
        let x = (width - 1 - bit) * 12;
        let height =
            |count: u64| (count as f64 * 70.0 / most as f64).max(if count > 0 { 1.0 } else { 0.0 });
        let (dark, light) = (height(*ones), height(*zeros));
        write!(
            out,
            "<g><title>bit {bit}: {ones} times 1 for 0, {zeros} times 0 for 1</title>\
             <rect class=\"one\" x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"{dark:.1}\"/>\
             <rect class=\"zero\" x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"{light:.1}\"/></g>",
            72.0 - dark,
            72.0 - dark - light
        )?;
    }
    for bit in (0..width).step_by(8).chain([width - 1]) {
        let x = (width - 1 - bit) * 12 + 5;
        write!(out, "<text x=\"{x}\" y=\"84\">{bit}</text>")?;
    }
    out.write_all(b"</svg></figure>\n")
}

fn table(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"<section aria-labelledby=\"all\">\n<h2 id=\"all\">All GPUs</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>GPU</th>\
          <th>condition</th><th>compared</th><th>wrong</th><th>SMs</th><th>temperature</th><th>what is said</th></tr></thead>\n<tbody>\n",
    )?;
    for gpu in &fleet.gpus {
        let heat = gpu.readings.as_ref().map(|r| r.temperature_c);
        writeln!(
            out,
            "<tr><td>{}</td><td><span class=\"tag {}\">{}</span></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            html(&called(gpu)),
            class(gpu.condition),
            words(gpu.condition),
            gpu.compared,
            gpu.wrong_results,
            gpu.wrong.sms_seen,
            heat.map_or(String::new(), |[low, high]| format!(
                "{low}\u{2013}{high} °C"
            )),
            html(&gpu.said)
        )?;
    }
    out.write_all(b"</tbody>\n</table></div>\n</section>\n")
}

fn class(condition: Condition) -> &'static str {
    match condition {
        Condition::Clean => "clean",
        condition if condition.faulty() => "faulty",
        Condition::AnotherKernel | Condition::WrongModel => "kernel",
        _ => "look",
    }
}

/// Text that means itself on the page.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if deceives(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
