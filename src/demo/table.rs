//! The table: both phases side by side.

use std::time::Duration;

use super::figures::Figures;

/// Columns: what, directly, through armshield, in proportion.
const WIDTHS: [usize; 4] = [43, 9, 12, 8];

/// How a row is read off the figures.
enum Cell {
    /// A number, in proportion to the other one.
    Count(fn(&Figures) -> usize),
    /// A time, in proportion to the other one.
    Time(fn(&Figures) -> Duration),
    /// A number to stand for itself.
    Number(fn(&Figures) -> usize),
    Text(fn(&Figures) -> String),
}

const ROWS: [(&str, Cell); 23] = [
    ("calls ARM saw", Cell::Count(Figures::calls)),
    ("  reads of one resource", Cell::Count(|figures| figures.points)),
    ("  lists", Cell::Count(|figures| figures.lists)),
    ("  writes", Cell::Count(|figures| figures.writes)),
    ("  polls of operations", Cell::Count(|figures| figures.polls)),
    ("answers of 429 by ARM", Cell::Count(|figures| figures.throttled)),
    ("answers of 429 that clients got", Cell::Count(|figures| figures.refused)),
    ("time clients waited because of them", Cell::Time(|figures| figures.waited)),
    ("a client's request, waits included: p50", Cell::Time(|figures| figures.p50)),
    ("                                    p99", Cell::Time(|figures| figures.p99)),
    ("pieces of work clients finished", Cell::Count(|figures| figures.done)),
    ("changes acknowledged to their writers", Cell::Count(|figures| figures.changes)),
    ("lost updates", Cell::Count(|figures| figures.lost.len())),
    ("reads stale after own writes", Cell::Count(|figures| figures.stale)),
    ("reads answered from memory", Cell::Number(|figures| figures.memory)),
    ("  their ages: p50/max", Cell::Text(ages)),
    ("reads merged with another one's call", Cell::Number(|figures| figures.merged)),
    ("writes guarded, and applied", Cell::Number(|figures| figures.guarded - figures.guarded_conflicts)),
    ("writes guarded, and refused by ARM", Cell::Number(|figures| figures.guarded_conflicts)),
    ("conflicts shown to people", Cell::Number(|figures| figures.people_conflicts)),
    ("conflicts programs met and tried again", Cell::Number(|figures| figures.program_conflicts)),
    ("requests of clients", Cell::Number(|figures| figures.requests)),
    ("other failures", Cell::Number(|figures| figures.failures)),
];

impl Cell {
    fn of(&self, figures: &Figures) -> String {
        match self {
            Self::Count(value) | Self::Number(value) => value(figures).to_string(),
            Self::Time(value) => span(value(figures)),
            Self::Text(value) => value(figures),
        }
    }

    fn ratio(&self, direct: &Figures, through: &Figures) -> Option<String> {
        match self {
            Self::Count(value) => ratio(value(direct) as u128, value(through) as u128),
            Self::Time(value) => ratio(value(direct).as_nanos(), value(through).as_nanos()),
            Self::Number(_) | Self::Text(_) => None,
        }
    }
}

/// The lines of the table; a phase that has not begun leaves its column empty.
pub(super) fn lines(direct: &Figures, through: Option<&Figures>) -> Vec<String> {
    let head = [["", "direct", "through", "ratio"], ["", "", "armshield", ""]].map(line);
    let row = |(label, cell): &(&str, Cell)| {
        let right = through.map_or_else(String::new, |through| cell.of(through));
        let ratio = through.and_then(|through| cell.ratio(direct, through)).unwrap_or_default();
        line([label, &cell.of(direct), &right, &ratio])
    };
    head.into_iter().chain(ROWS.iter().map(row)).collect()
}

fn ages(figures: &Figures) -> String {
    match figures.memory {
        0 => "–".to_owned(),
        _ => format!("{:.1}/{:.1} s", figures.memory_p50.as_secs_f64(), figures.memory_max.as_secs_f64()),
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
        _ if from / to >= 1.05 => Some(format!("÷ {:.1}", from / to)),
        _ if to / from >= 1.05 => Some(format!("× {:.1}", to / from)),
        _ => Some("≈ 1".to_owned()),
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
        check("lost updates", &["2", "0", "none"]);
        check("reads answered from memory", &["0", "7"]);
        check("their ages: p50/max", &["–", "0.6/1.4 s"]);
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
