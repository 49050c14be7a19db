//! A judged fleet as text, metrics and test report.

use std::io::{self, Write};

use super::fleet::{Condition, Fleet, Gpu};
use crate::io::{escaped, without_commands};
use crate::words::Word;

/// Host and number, as people call a GPU.
pub fn called(gpu: &Gpu) -> String {
    format!("{}/{}", gpu.device.host, gpu.device.index)
}

/// How many GPUs are in which condition, the rare ones first.
pub fn counts(fleet: &Fleet) -> Vec<(Condition, usize)> {
    let all = Condition::ALL.iter().rev();
    let counted = all.map(|(condition, _, _)| (*condition, fleet.count(*condition)));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// For people.
///
/// # Errors
/// Those of the writer.
pub fn text(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let faulty = fleet.faulty().count();
    let title = match (faulty, fleet.gpus.iter().all(|gpu| gpu.condition.right())) {
        (0, true) => "CLEAN",
        (0, false) => "TO BE LOOKED AT",
        _ => "FAULTY",
    };
    let said: Vec<_> = counts(fleet)
        .into_iter()
        .map(|(condition, count)| format!("{count} {}", words(condition)))
        .collect();
    writeln!(
        out,
        "{title}  {} GPUs: {}",
        fleet.gpus.len(),
        said.join(", ")
    )?;
    writeln!(
        out,
        "\n  suite     {} {}, {} products, {}",
        escaped(&fleet.arch),
        escaped(&fleet.level),
        fleet.products,
        fleet.suite
    )?;
    if fleet.gpus.iter().any(|gpu| gpu.device.simulated) {
        let simulated = fleet.gpus.iter().filter(|gpu| gpu.device.simulated).count();
        writeln!(
            out,
            "  simulated {simulated} of them: no GPU computed anything"
        )?;
    }
    let mut shown = 0;
    for gpu in &fleet.gpus {
        if gpu.condition.right() {
            continue;
        }
        shown += 1;
        if shown > 50 {
            continue;
        }
        let device = &gpu.device;
        writeln!(
            out,
            "\n  {}  {}  {}{}",
            escaped(&called(gpu)),
            words(gpu.condition).to_uppercase(),
            escaped(&device.name),
            device
                .uuid
                .as_ref()
                .map_or(String::new(), |uuid| format!(", {}", escaped(uuid)))
        )?;
        writeln!(out, "    {}", escaped(&gpu.said))?;
        if let Some(first) = &gpu.wrong.first {
            writeln!(
                out,
                "    first: {} tile {}, element [{}, {}]: {} instead of {}",
                escaped(&first.product),
                first.tile,
                first.row,
                first.column,
                escaped(&first.given),
                escaped(&first.right)
            )?;
        }
        if let Some(fault) = gpu.wrong.fits.first() {
            writeln!(
                out,
                "    repeat: tcverify screen run SUITE.json --device simulated --sms {} --inject {} -o OUT.json",
                gpu.wrong.sms_seen.max(1),
                escaped(fault)
            )?;
        }
        for case in gpu.cases.iter().take(3) {
            writeln!(out, "    case: {}", escaped(case))?;
        }
    }
    if shown > 50 {
        writeln!(out, "\n  and {} others", shown - 50)?;
    }
    Ok(())
}

/// A condition, in words.
pub fn words(condition: Condition) -> String {
    condition.word().replace('_', " ")
}

/// Metrics in Prometheus's text format (for node_exporter's textfile collector, or a gateway).
///
/// # Errors
/// Those of the writer.
pub fn prometheus(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let labels = |gpu: &Gpu| {
        let device = &gpu.device;
        let uuid = device.uuid.as_deref().unwrap_or("");
        format!(
            "host=\"{}\",gpu=\"{}\",uuid=\"{}\"",
            label(&device.host),
            device.index,
            label(uuid)
        )
    };
    type Value = fn(&Gpu) -> u64;
    let gauges: [(&str, &str, Value); 3] = [
        (
            "tcverify_screen_faulty",
            "1 if the GPU computes wrong",
            |gpu| u64::from(gpu.condition.faulty()),
        ),
        (
            "tcverify_screen_compared",
            "Results that were compared",
            |gpu| gpu.compared,
        ),
        ("tcverify_screen_wrong", "Results that were wrong", |gpu| {
            gpu.wrong_results
        }),
    ];
    writeln!(
        out,
        "# HELP tcverify_screen_condition What is to be thought of the GPU."
    )?;
    writeln!(out, "# TYPE tcverify_screen_condition gauge")?;
    for gpu in &fleet.gpus {
        let condition = gpu.condition.word();
        writeln!(
            out,
            "tcverify_screen_condition{{{},condition=\"{condition}\"}} 1",
            labels(gpu)
        )?;
    }
    for (name, help, value) in gauges {
        writeln!(out, "# HELP {name} {help}.\n# TYPE {name} gauge")?;
        for gpu in &fleet.gpus {
            writeln!(out, "{name}{{{}}} {}", labels(gpu), value(gpu))?;
        }
    }
    Ok(())
}

fn label(text: &str) -> String {
    escaped(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// JUnit XML: a case a GPU. A GPU that is faulty fails; one of which nothing can be said is an error.
///
/// # Errors
/// Those of the writer.
pub fn junit(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let failures = fleet.faulty().count();
    let right = |gpu: &&Gpu| gpu.condition.right();
    let errors = fleet.gpus.len() - failures - fleet.gpus.iter().filter(right).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\"",
        fleet.gpus.len()
    );
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcverify\" {counts}>\n  \
         <testsuite name=\"tcverify screen {}\" {counts}>\n",
        xml(&fleet.arch)
    )?;
    for gpu in &fleet.gpus {
        let name = xml(&called(gpu));
        write!(
            out,
            "    <testcase classname=\"tcverify.screen\" name=\"{name}\""
        )?;
        let kind = match gpu.condition {
            condition if condition.right() => {
                out.write_all(b"/>\n")?;
                continue;
            }
            condition if condition.faulty() => "failure",
            _ => "error",
        };
        writeln!(
            out,
            ">\n      <{kind} type=\"{}\" message=\"{}\"/>\n    </testcase>",
            gpu.condition.word(),
            xml(&gpu.said)
        )?;
    }
    out.write_all(b"  </testsuite>\n</testsuites>\n")
}

/// Text that means itself in XML.
fn xml(text: &str) -> String {
    let text = escaped(text);
    let mut out = String::with_capacity(text.len());
    for c in without_commands(&text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
