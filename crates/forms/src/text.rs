//! Text with colours for people; whoever owns the stream strips unwanted colours.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::view::{
    Case, Differences, Digest, Fact, Group, Item, Tone, View, Weight, distance, grouped, in_ulps,
};
use tcverify_io::escaped;
use tcverify_report::Tool;

/// How much of a view text shows, and how wide it is.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Columns: longer sentences are wrapped. Commands and digests, which people copy, are not.
    pub width: usize,
    /// Whether digests are shown.
    pub digests: bool,
    /// Whether all of many cases are shown.
    pub verbose: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            width: usize::MAX,
            digests: false,
            verbose: false,
        }
    }
}

const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

/// Fewer columns are too few for a sentence.
const LEAST: usize = 40;

/// Where the text of a row begins.
const INDENT: usize = 12;

/// Columns of the longest bar.
const BAR: usize = 30;

/// How many cases, cases of one group, and groups are shown of many.
const CASES: usize = 20;
const NAMES: usize = 3;
const KINDS: usize = 6;

impl Tone {
    fn style(self) -> Style {
        let colour = match self {
            Tone::Good => AnsiColor::Green,
            Tone::Part | Tone::Unsure => AnsiColor::Yellow,
            Tone::Bad => AnsiColor::Red,
        };
        colour.on_default().bold()
    }
}

/// What is written to, and how wide it is.
struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
}

impl View {
    /// The text.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        let width = layout.width.max(LEAST);
        let page = &mut Page { out, width };
        page.headline(self)?;
        if !self.cases.is_empty() {
            return page.cases(self, layout);
        }
        if let Some(differences) = &self.differences {
            page.facts(&differences.how)?;
        }
        for cause in &self.causes {
            page.row("cause", Style::new(), &cause.sentence)?;
            if let Some(command) = &cause.command {
                page.whole("", command)?;
            }
        }
        if let Some(tried) = &self.tried {
            let tried = if layout.verbose {
                &tried.all
            } else {
                &tried.short
            };
            page.row("no cause", Style::new(), tried)?;
        }
        let place = self.differences.as_ref().map(|d| d.place.as_slice());
        let (place, more) = place
            .unwrap_or_default()
            .split_at(usize::from(place.is_some()));
        page.facts(place)?;
        for (i, next) in self.next.iter().enumerate() {
            page.whole(if i == 0 { "next" } else { "" }, next)?;
        }
        if let Some(differences) = &self.differences {
            page.facts(more)?;
            page.histogram(differences)?;
            page.listed(differences)?;
            writeln!(page.out)?;
        }
        page.facts(self.facts().chain(&self.ambiguity))?;
        for section in self.outlined() {
            writeln!(page.out, "{}", section.heading)?;
            page.outline(&section.outline, 2)?;
            writeln!(page.out)?;
        }
        if self.outlined().next().is_some() {
            return Ok(());
        }
        for (i, digest) in self.reproduced.iter().enumerate() {
            page.whole(if i == 0 { "sha256" } else { "" }, digest)?;
        }
        if layout.digests {
            page.digests(self)?;
        }
        let mut facts = self.facts().chain(&self.ambiguity);
        if facts.next().is_some() || !self.reproduced.is_empty() || !self.next.is_empty() {
            writeln!(page.out)?;
        }
        if let Some(command) = &self.repeat {
            page.whole("repeat", command)?;
        }
        let Tool { name, version } = Tool::default();
        page.row("by", Style::new(), &format!("{name} {version}"))?;
        writeln!(page.out)?;
        for line in wrapped(&self.proves, page.width - 2) {
            writeln!(page.out, "  {QUIET}{line}{QUIET:#}")?;
        }
        Ok(())
    }

    /// The text without colours.
    pub fn plain_text(&self, layout: Layout) -> String {
        let mut text = Vec::new();
        self.text(layout, &mut text)
            .expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }

    /// The verdict in one line, with its rule and evidence; and a line for each case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn brief(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = self.tone.style();
        let by = match self.about.first() {
            Some(about) if self.evidence.is_empty() => format!("; {about}"),
            Some(rule) => format!("; {rule} ({})", self.evidence),
            None => String::new(),
        };
        let sentence = escaped(&format!("{}{by}", self.sentence));
        writeln!(out, "{style}{}{style:#}  {sentence}", self.head())?;
        for case in &self.cases {
            let style = case.tone.style();
            let head = escaped(&format!("{}{}", case.word.to_uppercase(), case.qualified));
            let mut sentence = format!("{}: {}", case.name, case.said);
            if !case.by.is_empty() {
                sentence += &format!("; {}", case.by);
            }
            writeln!(out, "{style}{head}{style:#}  {}", escaped(&sentence))?;
        }
        Ok(())
    }

    fn head(&self) -> String {
        escaped(&format!("{}{}", self.word.to_uppercase(), self.qualified))
    }
}

impl Page<'_> {
    fn headline(&mut self, view: &View) -> io::Result<()> {
        let (style, head, sentence) = (view.tone.style(), view.head(), escaped(&view.sentence));
        // A head that leaves no room for the sentence gets a line of its own.
        let gap = if view.word.is_empty() { " " } else { "  " };
        let indent = head.chars().count() + gap.len();
        let room = self.width.saturating_sub(indent);
        let (first, indent, lines) = if room < LEAST && room < sentence.len() {
            ("\n  ", 2, wrapped(&sentence, self.width - 2))
        } else {
            (gap, indent, wrapped(&sentence, room))
        };
        let lines = lines.join(&format!("\n{:indent$}", ""));
        writeln!(self.out, "{style}{head}{style:#}{first}{lines}\n")
    }

    fn facts<'f>(&mut self, facts: impl IntoIterator<Item = &'f Fact>) -> io::Result<()> {
        for fact in facts {
            let style = match fact.weight {
                Weight::Caution => CAUTION,
                _ => Style::new(),
            };
            for (i, line) in fact.lines.iter().enumerate() {
                self.row(if i == 0 { &fact.label } else { "" }, style, line)?;
            }
        }
        Ok(())
    }

    /// A labelled text. It comes from files, too, so its own line ends are escaped.
    fn row(&mut self, label: &str, style: Style, text: &str) -> io::Result<()> {
        let (label, text) = (escaped(label), escaped(text));
        // A label that fills its column is still followed by a space.
        let room = self.width.saturating_sub(INDENT);
        for (i, line) in wrapped(&text, room).into_iter().enumerate() {
            let label = if i == 0 { &label } else { "" };
            writeln!(
                self.out,
                "  {QUIET}{label:<9}{QUIET:#} {style}{line}{style:#}"
            )?;
        }
        Ok(())
    }

    /// Lines and those under them; commands are not wrapped.
    fn outline(&mut self, items: &[Item], indent: usize) -> io::Result<()> {
        for item in items {
            let style = match (item.weight, item.command) {
                (Weight::Caution, _) => CAUTION,
                (_, true) => QUIET,
                _ => Style::new(),
            };
            let text = escaped(&item.text);
            let lines = if item.command {
                vec![text.as_str()]
            } else {
                wrapped(&text, self.width.saturating_sub(indent))
            };
            for line in lines {
                writeln!(self.out, "{:indent$}{style}{line}{style:#}", "")?;
            }
            self.outline(&item.under, indent + 2)?;
        }
        Ok(())
    }

    /// One line that is not wrapped, because people copy it.
    fn whole(&mut self, label: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "  {QUIET}{label:<9}{QUIET:#} {}", escaped(text))
    }

    fn histogram(&mut self, differences: &Differences) -> io::Result<()> {
        let rows = &differences.distances;
        let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let ranges = longest(rows.iter().map(|(range, _)| range.len()));
        let counts = longest(rows.iter().map(|(_, count)| grouped(*count).len()));
        let room = self.width.saturating_sub(INDENT + ranges + counts + 4);
        let full = room.clamp(1, BAR) as u64;
        for (i, (range, count)) in rows.iter().enumerate() {
            let bar = (u128::from(*count) * u128::from(full)).div_ceil(most.into());
            let text = format!(
                "{range:>ranges$}  {:>counts$}  {}",
                grouped(*count),
                "#".repeat(bar as usize)
            );
            self.whole(if i == 0 { "ulps" } else { "" }, &text)?;
        }
        Ok(())
    }

    /// The first mismatches, in one line each, or two if one is too long.
    fn listed(&mut self, differences: &Differences) -> io::Result<()> {
        if differences.first.is_empty() {
            return Ok(());
        }
        let code = 2 + 2 * differences.format.bytes();
        let names = [differences.names[0], differences.names[1], "xor"];
        let widths = names.map(|name| code.max(name.len()));
        let rows = differences.first.iter().map(|(_, m)| {
            let ulp = distance(m, differences.format).unwrap_or_else(|| "-".to_owned());
            let values = format!("{} -> {}", m.reproduced_value, m.given_value);
            (format!("{:?}", m.index), m, ulp, values)
        });
        let rows: Vec<_> = rows.collect();
        let index_width = longest(rows.iter().map(|(index, ..)| index.len())).max(5);
        let values_width = longest(rows.iter().map(|(.., values)| values.len()));
        let ulp_width = longest(rows.iter().map(|(.., ulp, _)| ulp.len())).max(10);
        let codes: usize = widths.iter().map(|width| 2 + width).sum();
        let one_line = 2 + index_width + codes + 2 + ulp_width + 2 + values_width;
        let narrow = one_line > self.width;
        let row = |cells: [&str; 3]| -> String {
            let cells = cells.iter().zip(widths);
            cells
                .map(|(cell, width)| format!("  {cell:<width$}"))
                .collect()
        };
        let last = if narrow {
            format!("\n  {:index_width$}  values", "")
        } else {
            format!("  {:>ulp_width$}  values", "ulp")
        };
        writeln!(
            self.out,
            "\n  {:<index_width$}{}{last}",
            "index",
            row(names)
        )?;
        for (index, m, ulp, values) in &rows {
            let last = if narrow {
                let ulp = in_ulps(m, differences.format).unwrap_or_else(|| "- ulp".to_owned());
                format!("\n  {:index_width$}  {values}, {ulp}", "")
            } else {
                format!("  {ulp:>ulp_width$}  {values}")
            };
            let codes = [&m.reproduced, &m.given, &m.xor].map(|code| format!("0x{code}"));
            let codes = row(codes.each_ref().map(String::as_str));
            writeln!(self.out, "  {index:<index_width$}{codes}{last}")?;
        }
        match differences.hidden(rows.len()) {
            0 => Ok(()),
            hidden => {
                let text = format!("  ... and {} more (--max-mismatches)", grouped(hidden));
                writeln!(self.out, "{QUIET}{text}{QUIET:#}")
            }
        }
    }

    /// Digests and what they are of, which gets its own line if one is too short.
    fn digests(&mut self, view: &View) -> io::Result<()> {
        writeln!(self.out, "\n  SHA-256")?;
        let name = |digest: &Digest| escaped(&digest.name());
        let width = longest(view.digests().map(|digest| name(digest).chars().count()));
        for digest in view.digests() {
            let (name, about) = (name(digest), escaped(&digest.about));
            let mut line = format!("    {name:<width$}  {}", escaped(&digest.sha256));
            if !about.is_empty() {
                let room = line.chars().count() + 2 + about.chars().count() <= self.width;
                let between = if room {
                    "  ".to_owned()
                } else {
                    format!("\n{:w$}", "", w = width + 6)
                };
                write!(line, "{between}{about}").expect("a string");
            }
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Groups of bad cases, then one line per case.
    fn cases(&mut self, view: &View, layout: Layout) -> io::Result<()> {
        let groups = view.groups();
        let [kinds, names] = if layout.verbose {
            [usize::MAX; 2]
        } else {
            [KINDS, NAMES]
        };
        for group in groups.iter().take(kinds) {
            let style = group.cases[0].tone.style();
            for line in wrapped(&escaped(&group.heading), self.width - 2) {
                writeln!(self.out, "  {style}{line}{style:#}")?;
            }
            for case in group.cases.iter().take(names) {
                self.failed(case, group, layout)?;
            }
            if group.cases.len() > names {
                let more = grouped((group.cases.len() - names) as u64);
                self.row("", QUIET, &format!("and {more} more (--verbose)"))?;
            }
            writeln!(self.out)?;
        }
        if groups.len() > kinds {
            let more = grouped((groups.len() - kinds) as u64);
            writeln!(
                self.out,
                "  {QUIET}and {more} more kinds (--verbose){QUIET:#}\n"
            )?;
        }
        self.facts(view.facts())?;
        if view.facts().next().is_some() {
            writeln!(self.out)?;
        }
        let many = !layout.verbose && view.cases.len() > CASES;
        let plain = |case: &&Case| !many || (!case.is_bad() && !case.qualified.is_empty());
        let shown: Vec<&Case> = view.cases.iter().filter(plain).collect();
        let most = if many { CASES } else { usize::MAX };
        let names: Vec<_> = shown.iter().map(|case| escaped(&case.name)).collect();
        let width = longest(names.iter().map(|name| name.chars().count())).min(48);
        let words = longest(shown.iter().map(|case| case.word.chars().count())).max(9);
        for (case, name) in shown.iter().zip(&names).take(most) {
            let (style, word) = (case.tone.style(), case.word.to_uppercase());
            let row = format!(
                "{style}{word:words$}{style:#}  {name:width$}  {}",
                escaped(&case.by)
            );
            writeln!(self.out, "  {}", row.trim_end())?;
            if !case.qualified.is_empty() && !case.is_bad() {
                writeln!(self.out, "  {:words$}  {}", "", escaped(&case.title()))?;
            }
        }
        if many {
            // Of none is shown what the headline does not say.
            let listed = shown.len().min(most);
            let hidden = grouped((view.cases.len() - listed) as u64);
            let text = match listed {
                0 => format!("--verbose lists all {hidden} cases"),
                _ => format!("{hidden} more cases (--verbose)"),
            };
            self.row("", QUIET, &text)?;
        }
        Ok(())
    }

    /// A bad case in detail.
    fn failed(&mut self, case: &Case, group: &Group, layout: Layout) -> io::Result<()> {
        let style = case.tone.style();
        writeln!(self.out, "    {style}{}{style:#}", escaped(&case.name))?;
        if layout.verbose
            && let Some(view) = case.opened()?
        {
            let width = self.width.saturating_sub(2).max(LEAST);
            let text = view.plain_text(Layout { width, ..layout });
            for line in text.trim_end().lines() {
                writeln!(self.out, "{}", format!("    {line}").trim_end())?;
            }
            return Ok(());
        }
        if !group.heading.ends_with(&case.said) {
            self.row("", Style::new(), &case.said)?;
        }
        let cause = case.cause.as_ref();
        if let Some(cause) = cause.filter(|cause| !group.heading.ends_with(*cause)) {
            self.row("cause", Style::new(), cause)?;
        }
        let facts = case.card.iter().flat_map(|card| &card.facts);
        self.facts(facts.filter(|fact| fact.weight != Weight::Detail))?;
        match &case.next {
            Some(next) => self.whole("next", next),
            None => Ok(()),
        }
    }
}

/// The longest of some lengths; 0 if there are none.
fn longest(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.max().unwrap_or(0)
}

/// A text in lines of at most this width, cut at spaces: a longer word gets its own line. At least one line.
pub fn wrapped(text: &str, width: usize) -> Vec<&str> {
    if text.len() <= width {
        return vec![text];
    }
    let mut lines = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (at, word) in words(text) {
        let past = at + word.len();
        if end > start && text[start..past].chars().count() > width {
            lines.push(&text[start..end]);
            start = at;
        }
        end = past;
    }
    lines.push(&text[start..end]);
    lines
}

/// Words and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut place = 0;
    let words = text.split(' ').map(move |word| {
        let at = place;
        place += word.len() + 1;
        (at, word)
    });
    words.filter(|(_, word)| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn nothing_is_lost_and_no_line_is_wider_than_a_word() {
        let text = "one of 16,384 elements differs: größe [12, 5] abcdefghijklmnopqrstuvwxyz end";
        for width in 1..100 {
            let lines = wrapped(text, width);
            assert_eq!(lines.join(" "), text);
            let fits = |line: &&str| line.chars().count() <= width || !line.contains(' ');
            assert!(lines.iter().all(fits), "{width}: {lines:?}");
        }
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped(text, usize::MAX), [text]);
        assert_eq!(wrapped("a  b", 3), ["a", "b"]);
    }
}
