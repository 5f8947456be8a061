//! The table: both phases side by side.

use std::time::Duration;

use super::figures::Figures;

/// Columns: what, directly, through armshield, in proportion.
const WIDTHS: [usize; 4] = [43, 9, 12, 8];

/// The lines of the table; a phase that has not begun leaves its column empty.
pub(super) fn lines(direct: &Figures, through: Option<&Figures>) -> Vec<String> {
    let mut lines = vec![line(["", "direct", "through", "ratio"]), line(["", "", "armshield", ""])];
    let mut row = |label: &str, cell: &dyn Fn(&Figures) -> String, ratio: Option<String>| {
        let right = through.map_or_else(String::new, cell);
        lines.push(line([label, &cell(direct), &right, &ratio.unwrap_or_default()]));
    };
    let mut count = |label: &str, value: fn(&Figures) -> usize| {
        let ratio = through.and_then(|through| ratio(value(direct) as u128, value(through) as u128));
        row(label, &|figures| value(figures).to_string(), ratio);
    };
    count("calls ARM saw", Figures::calls);
    count("  reads of one resource", |figures| figures.points);
    count("  lists", |figures| figures.lists);
    count("  writes", |figures| figures.writes);
    count("  polls of operations", |figures| figures.polls);
    count("answers of 429 by ARM", |figures| figures.throttled);
    count("answers of 429 that clients got", |figures| figures.refused);
    let mut time = |label: &str, value: fn(&Figures) -> Duration| {
        let ratio = through.and_then(|through| ratio(value(direct).as_nanos(), value(through).as_nanos()));
        row(label, &|figures| span(value(figures)), ratio);
    };
    time("time clients waited because of them", |figures| figures.waited);
    time("a client's request, waits included: p50", |figures| figures.p50);
    time("                                    p99", |figures| figures.p99);
    let mut count = |label: &str, value: fn(&Figures) -> usize| {
        let ratio = through.and_then(|through| ratio(value(direct) as u128, value(through) as u128));
        row(label, &|figures| value(figures).to_string(), ratio);
    };
    count("pieces of work clients finished", |figures| figures.done);
    count("changes acknowledged to their writers", |figures| figures.changes);
    let mut plain = |label: &str, value: fn(&Figures) -> usize| {
        row(label, &|figures| value(figures).to_string(), None);
    };
    plain("lost updates", |figures| figures.lost.len());
    plain("reads stale after own writes", |figures| figures.stale);
    plain("reads answered from memory", |figures| figures.memory);
    row("  their ages: p50 / max", &ages, None);
    let mut plain = |label: &str, value: fn(&Figures) -> usize| {
        row(label, &|figures| value(figures).to_string(), None);
    };
    plain("reads merged with another one's call", |figures| figures.merged);
    plain("writes guarded, and applied", |figures| figures.guarded - figures.guarded_conflicts);
    plain("writes guarded, and refused by ARM", |figures| figures.guarded_conflicts);
    plain("conflicts shown to people", |figures| figures.people_conflicts);
    plain("conflicts programs met and tried again", |figures| figures.program_conflicts);
    plain("other failures", |figures| figures.failures);
    lines
}

fn ages(figures: &Figures) -> String {
    match figures.memory {
        0 => "–".to_owned(),
        _ => format!("{:.1} / {:.1} s", figures.memory_p50.as_secs_f64(), figures.memory_max.as_secs_f64()),
    }
}

/// Cells are aligned to the right, labels to the left. A cell that is too wide takes room on its left.
fn line([label, direct, through, ratio]: [&str; 4]) -> String {
    let [first, second, third, last] = WIDTHS;
    let left = format!("{label:<first$}{direct:>second$}");
    let room = (first + second + third).saturating_sub(left.chars().count());
    format!("{left}{through:>room$}{ratio:>last$}").trim_end().to_owned()
}

/// How many times less, or more, it became.
fn ratio(direct: u128, through: u128) -> Option<String> {
    // Rounded to a tenth anyway.
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    let (from, to) = (direct as f64, through as f64);
    match (direct, through) {
        (0, _) => None,
        (_, 0) => Some("none".to_owned()),
        _ if from >= to => Some(format!("÷ {:.1}", from / to)),
        _ => Some(format!("× {:.1}", to / from)),
    }
}

fn span(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    match time.as_millis() {
        0..10 => format!("{millis:.1} ms"),
        10..1000 => format!("{millis:.0} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> (Figures, Figures) {
        let direct = Figures {
            points: 300,
            lists: 600,
            writes: 100,
            throttled: 35,
            waited: Duration::from_millis(34_230),
            p50: Duration::from_millis(20),
            p99: Duration::from_millis(1050),
            lost: vec!["one".into(), "two".into()],
            ..Figures::default()
        };
        let through = Figures {
            points: 240,
            lists: 120,
            writes: 140,
            p50: Duration::from_micros(400),
            memory: 7,
            memory_p50: Duration::from_millis(620),
            memory_max: Duration::from_millis(1440),
            guarded: 19,
            guarded_conflicts: 12,
            ..Figures::default()
        };
        (direct, through)
    }

    fn cells<'a>(lines: &'a [String], label: &str) -> Vec<&'a str> {
        let line = lines.iter().find(|line| line.trim_start().starts_with(label)).unwrap();
        line.trim_start()[label.len()..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn both_phases_stand_side_by_side_with_their_ratio() {
        let (direct, through) = figures();
        let lines = lines(&direct, Some(&through));
        let check = |label: &str, expected: &[&str]| assert_eq!(cells(&lines, label), expected, "{label}");
        check("calls ARM saw", &["1000", "500", "÷ 2.0"]);
        check("lists", &["600", "120", "÷ 5.0"]);
        check("writes ", &["100", "140", "× 1.4"]);
        check("polls of operations", &["0", "0"]);
        check("answers of 429 by ARM", &["35", "0", "none"]);
        check("time clients waited because of them", &["34.2 s", "0.0 ms", "none"]);
        check("a client's request, waits included: p50", &["20 ms", "0.4 ms", "÷ 50.0"]);
        check("lost updates", &["2", "0"]);
        check("reads answered from memory", &["0", "7"]);
        check("their ages: p50 / max", &["–", "0.6 / 1.4 s"]);
        check("writes guarded, and applied", &["0", "7"]);
        check("writes guarded, and refused by ARM", &["0", "12"]);
    }

    #[test]
    fn the_second_column_is_empty_until_its_phase_begins() {
        let (direct, _) = figures();
        for line in &lines(&direct, None)[2..] {
            assert!(line.chars().count() <= WIDTHS[0] + WIDTHS[1], "{line}");
        }
    }

    #[test]
    fn a_terminal_of_80_columns_holds_it() {
        let (mut direct, through) = figures();
        direct.points = 1_234_567;
        for line in lines(&direct, Some(&through)) {
            assert!(line.chars().count() < 80, "{line}");
        }
    }
}
