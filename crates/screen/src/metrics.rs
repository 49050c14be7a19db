//! A judged fleet as metrics.

use std::io::{self, Write};

use super::fleet::{Fleet, Gpu};
use crate::io::escaped;
use crate::words::Word;

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
            "1 if the GPU computes wrong results",
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
        "# HELP tcverify_screen_condition The judged condition of the GPU."
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
