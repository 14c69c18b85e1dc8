//! The report of `tiro eval` as one page that needs nothing else: no script, no font, no request.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    judge::Row,
    summary::{Outcome, Part, Summary, percent},
};

/// As many turns get a bar; a page with ten thousand of them opens in no browser.
const MAX_BARS: usize = 400;

/// As many tools get a row or a column in the plot of what was called instead; the table below it has all.
const MAX_CELLS: usize = 24;

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}\
td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}td.n,th.n{text-align:right}\
.bad{color:#a4262c}.k{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em}svg{width:100%;height:auto}\
svg text{font:10px system-ui,sans-serif;fill:#444}@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}\
svg text{fill:#bbb}td,th{border-color:#444}.bad{color:#ff8a80}}";

/// A part of a bar: its name and its colour.
type Colour = (&'static str, &'static str);

/// The page.
pub fn page(outcome: &Outcome) -> String {
    let summary = &outcome.summary;
    let mut out = String::from("<!doctype html><html lang=en><meta charset=utf-8>");
    let _ = write!(
        out,
        "<meta name=viewport content=\"width=device-width\"><title>Tiro: evaluation</title><style>{STYLE}</style>\
         <h1>Tiro: {} turns of {} scenarios</h1><p>Model: {}. {} scenarios were right in everything.</p>",
        summary.n,
        summary.scenarios,
        escape(&summary.model),
        summary.passed
    );
    numbers(&mut out, outcome);
    out.push_str("<h2>Right tool by domain</h2>");
    domains(&mut out, outcome);
    out.push_str("<h2>Time of each turn, in milliseconds</h2>");
    let time = |row: &Row| {
        let rest = row.ms.total - row.ms.stt - row.ms.llm - row.ms.tools;
        vec![row.ms.stt, row.ms.llm, row.ms.tools, rest.max(0.0)]
    };
    let parts = [
        ("hearing", "#8764b8"),
        ("thinking", "#4a90d9"),
        ("acting", "#6bb05d"),
        ("rest", "#bbb"),
    ];
    bars(&mut out, &outcome.rows, &parts, time);
    out.push_str("<h2>Tokens of each turn</h2>");
    let tokens = |row: &Row| {
        let cached = row.tokens.prompt.saturating_sub(row.evaluated);
        vec![cached as f32, row.evaluated as f32, row.tokens.generated as f32]
    };
    let parts = [
        ("cached", "#bbb"),
        ("evaluated", "#4a90d9"),
        ("written", "#d97b4a"),
    ];
    bars(&mut out, &outcome.rows, &parts, tokens);
    out.push_str("<h2>What was called instead</h2>");
    confusion(&mut out, &outcome.rows);
    out.push_str("<h2>What was not right</h2>");
    mistakes(&mut out, &outcome.rows);
    out.push_str("</html>\n");
    out
}

fn numbers(out: &mut String, outcome: &Outcome) {
    let mut columns = vec![("tiro", &outcome.summary)];
    columns.extend(
        outcome
            .beside
            .iter()
            .map(|(name, summary)| (name.as_str(), summary)),
    );
    out.push_str("<table><tr><th>");
    for (name, _) in &columns {
        let _ = write!(out, "<th class=n>{}", escape(name));
    }
    let mut line = |name: &str, cell: &dyn Fn(&Summary) -> String| {
        let _ = write!(out, "<tr><td>{name}");
        for (_, summary) in &columns {
            let _ = write!(out, "<td class=n>{}", cell(summary));
        }
    };
    line("right tool", &|s| percent(s.tool_accuracy));
    line("right arguments", &|s| percent(s.argument_accuracy));
    line("right times", &|s| percent(s.time_accuracy));
    line("acted where no tool may", &|s| percent(s.false_actions));
    line("world as it should be", &|s| percent(s.state_accuracy));
    line("deferred tools that took a round trip", &|s| {
        percent(s.round_trips)
    });
    line("new prompt tokens, middle and 95th", &|s| {
        format!("{:.0} / {:.0}", s.evaluated.p50, s.evaluated.p95)
    });
    line("milliseconds, middle and 95th", &|s| {
        format!("{:.0} / {:.0}", s.ms.p50, s.ms.p95)
    });
    for (name, part) in [
        (
            "by reflex, without the model",
            (|s| &s.reflex) as fn(&Summary) -> &Part,
        ),
        ("asked the model", |s| &s.asked),
    ] {
        line(name, &|s| percent(part(s).share));
        line(&format!("{name}: right tool"), &|s| {
            percent(part(s).tool_accuracy)
        });
        line(&format!("{name}: milliseconds, middle and 95th"), &|s| {
            format!("{:.1} / {:.1}", part(s).ms.p50, part(s).ms.p95)
        });
    }
    out.push_str("</table>");
}

fn domains(out: &mut String, outcome: &Outcome) {
    let domains = &outcome.summary.domains;
    let height = domains.len() * 18 + 4;
    let _ = write!(out, "<svg viewBox=\"0 0 800 {height}\" role=img>");
    for (at, (name, domain)) in domains.iter().enumerate() {
        let (y, share) = (at * 18 + 2, domain.tool as f64 / domain.n.max(1) as f64);
        let _ = write!(
            out,
            "<text x=95 y={} text-anchor=end>{}</text><rect x=100 y={y} width=600 height=14 fill=#ddd></rect>\
             <rect x=100 y={y} width={:.1} height=14 fill=#4a90d9></rect><text x=706 y={}>{} of {}</text>",
            y + 11,
            escape(name),
            share * 600.0,
            y + 11,
            domain.tool,
            domain.n
        );
    }
    out.push_str("</svg>");
}

fn bars(out: &mut String, rows: &[Row], parts: &[Colour], of: impl Fn(&Row) -> Vec<f32>) {
    for (name, colour) in parts {
        let _ = write!(out, "<span class=k style=\"background:{colour}\"></span>{name}");
    }
    let shown = &rows[..rows.len().min(MAX_BARS)];
    if shown.len() < rows.len() {
        let _ = write!(out, "<p>The first {MAX_BARS} of {}.</p>", rows.len());
    }
    let most = shown
        .iter()
        .map(|row| of(row).iter().sum::<f32>())
        .fold(1.0, f32::max);
    let height = shown.len() * 12 + 4;
    let _ = write!(out, "<svg viewBox=\"0 0 800 {height}\" role=img>");
    for (at, row) in shown.iter().enumerate() {
        let (y, values, mut x) = (at * 12 + 2, of(row), 150.0);
        let _ = write!(
            out,
            "<text x=145 y={} text-anchor=end>{} {}</text>",
            y + 9,
            escape(&row.id),
            row.turn
        );
        for (value, (name, colour)) in values.iter().zip(parts) {
            let width = value / most * 580.0;
            let _ = write!(
                out,
                "<rect x={x:.1} y={y} width={width:.1} height=10 fill={colour}><title>{name}: {value:.0}</title></rect>"
            );
            x += width;
        }
        let _ = write!(
            out,
            "<text x={:.1} y={}>{:.0}</text>",
            x + 4.0,
            y + 9,
            values.iter().sum::<f32>()
        );
    }
    out.push_str("</svg>");
}

/// Which tool was called where another was right, most frequent first.
fn confusion(out: &mut String, rows: &[Row]) {
    let mut pairs: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.tool) {
        let wanted = row.accept.first().map_or("none", String::as_str);
        let called = row.calls.iter().find(|call| !row.accept.contains(&call.name));
        let called = called.map_or("none", |call| call.name.as_str());
        *pairs.entry((wanted.to_owned(), called.to_owned())).or_default() += 1;
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    matrix(out, &pairs);
    out.push_str("<table><tr><th>right<th>called<th class=n>turns");
    for ((wanted, called), count) in pairs {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td class=n>{count}",
            escape(&wanted),
            escape(&called)
        );
    }
    out.push_str("</table>");
}

/// The same as a plot: a row for each tool that was right, a column for each that was called, the darker the more often.
fn matrix(out: &mut String, pairs: &[((String, String), usize)]) {
    let often = |side: fn(&(String, String)) -> &String| {
        let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
        for (pair, count) in pairs {
            *sums.entry(side(pair).as_str()).or_default() += count;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown = sums.into_iter().take(MAX_CELLS).map(|(name, _)| name);
        shown.collect::<Vec<_>>()
    };
    let (rows, columns) = (often(|pair| &pair.0), often(|pair| &pair.1));
    let most = pairs.first().map_or(1, |(_, count)| *count) as f64;
    let height = 132 + rows.len() * 20;
    let _ = write!(out, "<svg viewBox=\"0 0 800 {height}\" role=img>");
    for (at, name) in columns.iter().enumerate() {
        let x = 172 + at * 24;
        let _ = write!(
            out,
            "<text x={x} y=124 transform=\"rotate(-60 {x} 124)\">{}</text>",
            escape(name)
        );
    }
    for (down, right) in rows.iter().enumerate() {
        let y = 130 + down * 20;
        let _ = write!(
            out,
            "<text x=155 y={} text-anchor=end>{}</text>",
            y + 13,
            escape(right)
        );
        for (across, called) in columns.iter().enumerate() {
            let cell = pairs
                .iter()
                .find(|((wanted, instead), _)| wanted == right && instead == called);
            let Some((_, count)) = cell else { continue };
            let x = 160 + across * 24;
            let shade = 0.15 + 0.85 * *count as f64 / most;
            let _ = write!(
                out,
                "<rect x={x} y={y} width=22 height=18 fill=#d9534f fill-opacity={shade:.2}><title>{} instead of {}: \
                 {count}</title></rect><text x={} y={} text-anchor=middle>{count}</text>",
                escape(called),
                escape(right),
                x + 11,
                y + 13
            );
        }
    }
    out.push_str("</svg>");
}

fn mistakes(out: &mut String, rows: &[Row]) {
    out.push_str("<table><tr><th>turn<th>said<th>what was wrong<th>answer");
    for row in rows.iter().filter(|row| !row.passed) {
        let _ = write!(
            out,
            "<tr><td>{} {}<td>{}<td class=bad>{}<td>{}",
            escape(&row.id),
            row.turn,
            escape(&row.say),
            escape(&row.problems.join("; ")),
            escape(&row.reply)
        );
    }
    out.push_str("</table>");
}

/// Text that stays text, in an element and between quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        agent::Ending,
        report::{Times, Tokens},
    };

    #[test]
    fn what_was_said_stays_text() {
        let hostile = "<script>alert('x')</script>\u{1b}[0m";
        let row = Row {
            id: hostile.to_owned(),
            turn: 1,
            say: hostile.to_owned(),
            accept: BTreeSet::from(["clock.now".to_owned()]),
            calls: Vec::new(),
            reply: hostile.to_owned(),
            asked: Vec::new(),
            end: Ending::Done,
            tool: false,
            arguments: None,
            times: (0, 0),
            state: true,
            passed: false,
            problems: vec![hostile.to_owned()],
            deferred: true,
            round_trip: false,
            steps: 1,
            reflex: false,
            tokens: Tokens::default(),
            evaluated: 10,
            ms: Times::default(),
        };
        let rows = vec![row; MAX_BARS + 1];
        let summary = Summary::of(&rows, hostile, 0.0);
        let page = page(&Outcome {
            summary,
            rows,
            beside: BTreeMap::new(),
        });
        assert!(!page.contains("<script") && !page.contains('\u{1b}'), "escaped");
        assert!(page.contains("&lt;script&gt;"), "shown");
        for outside in ["http:", "https:", "src=", "href=", "url("] {
            assert!(!page.contains(outside), "the page loads nothing: {outside}");
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.contains("The first 400 of 401."), "a bound on the bars");
        assert!(
            page.contains("<title>none instead of clock.now: 401</title>"),
            "a cell"
        );
    }

    #[test]
    fn the_plot_of_what_was_called_instead_is_bounded() {
        let name = |n: usize| format!("tool.n{n}");
        let pairs: Vec<_> = (0..100).map(|n| ((name(n), name(n + 1)), 100 - n)).collect();
        let mut out = String::new();
        matrix(&mut out, &pairs);
        assert_eq!(out.matches("<rect").count(), MAX_CELLS, "those that happen most");
        assert!(out.contains("tool.n1 instead of tool.n0: 100") && !out.contains("tool.n60"));
    }
}
