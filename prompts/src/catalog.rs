//! Section 2: the names of tools whose schemas are not shown, and less than that where there are too many.

use std::{cmp::Reverse, collections::HashMap};

use crate::{Card, dialect::defuse};

/// The catalogue, domains together, in the order in which the domains first come. Rows carry summaries if that is asked
/// for. While it takes more than about `budget` tokens (none: as many as it takes) the largest domain that says most gives
/// way: first its summaries, then its rows become one line. The model should be able to name every tool, but servers can
/// bring thousands: over [`NAMES_GO`] budgets the largest domains only say how many tools they have, and what is still too
/// much is counted in a last line.
pub fn rows(cards: &[Card], summaries: bool, budget: Option<u32>, tags: &[&str]) -> String {
    let mut groups = grouped(cards, if summaries { Form::Summaries } else { Form::Names });
    if let Some(budget) = budget {
        let budget = budget as usize;
        shrink(&mut groups, budget, Form::Names);
        shrink(&mut groups, budget, Form::Line);
        shrink(&mut groups, budget * NAMES_GO, Form::Count);
        shrink(&mut groups, budget * NAMES_GO, Form::Nothing);
    }
    let (unlisted, listed): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.form == Form::Nothing);
    let mut lines: Vec<String> = listed.iter().map(|group| group.text(group.form)).collect();
    if !unlisted.is_empty() {
        let count = unlisted.iter().map(|group| group.cards.len()).sum();
        lines.push(format!("and {} of other domains", tools(count)));
    }
    defuse(&lines.join("\n"), tags)
}

/// So many budgets the names may take, which are said nowhere else. Those of our own tools fit into one.
const NAMES_GO: usize = 4;

struct Group<'a> {
    domain: &'a str,
    cards: Vec<&'a Card>,
    form: Form,
}

/// How a domain is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `- a.x: What it does`, a row each.
    Summaries,
    /// `- a.x`, a row each.
    Names,
    /// `a: x y [confirm] z`. The tools that ask share one mark, because each costs three tokens.
    Line,
    /// `a: 312 tools`.
    Count,
    /// Counted with others in the last line.
    Nothing,
}

fn grouped(cards: &[Card], form: Form) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = HashMap::new();
    for card in cards {
        let domain = card.name.split('.').next().unwrap_or_default();
        let place = *places.entry(domain).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.cards.push(card),
            None => groups.push(Group {
                domain,
                cards: vec![card],
                form,
            }),
        }
    }
    groups
}

/// Puts domains into a shorter form, the largest first, until all take no more than about so many tokens.
fn shrink(groups: &mut [Group<'_>], tokens: usize, form: Form) {
    let sizes: Vec<usize> = groups.iter().map(|group| group.size(group.form)).collect();
    let mut total: usize = sizes.iter().sum();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    // Stable, so that the same tools always give the same prompt.
    order.sort_by_key(|&i| Reverse(sizes[i]));
    for i in order {
        if total <= tokens * MILLI {
            return;
        }
        let size = groups[i].size(form);
        if size < sizes[i] {
            groups[i].form = form;
            total = total + size - sizes[i];
        }
    }
}

/// Sizes are estimated in thousandths of a token.
const MILLI: usize = 1_000;

impl Group<'_> {
    fn text(&self, form: Form) -> String {
        let rows = |row: &dyn Fn(&Card) -> String| {
            let rows: Vec<String> = self.cards.iter().map(|card| row(card)).collect();
            rows.join("\n")
        };
        match form {
            Form::Summaries => rows(&|card| format!("{}: {}", row(card), one_line(&card.summary))),
            Form::Names => rows(&row),
            Form::Line => self.line(),
            Form::Count => format!("{}: {}", one_word(self.domain), tools(self.cards.len())),
            Form::Nothing => String::new(),
        }
    }

    fn line(&self) -> String {
        let verb = |card: &&Card| {
            let verb = card
                .name
                .strip_prefix(self.domain)
                .and_then(|v| v.strip_prefix('.'));
            one_word(verb.unwrap_or(&card.name))
        };
        let verbs = |confirm: bool| self.cards.iter().filter(move |c| c.confirm == confirm).map(verb);
        let mark = self.cards.iter().any(|c| c.confirm).then(|| CONFIRM.to_owned());
        let words: Vec<String> = verbs(false).chain(mark).chain(verbs(true)).collect();
        format!("{}: {}", one_word(self.domain), words.join(" "))
    }

    /// What a form takes, about. An estimate is enough for a budget, and keeps this pure.
    fn size(&self, form: Form) -> usize {
        // Bytes in ten tokens, measured on our own tools and on those of livemcpbench with the tokenizer of Qwen 2.5.
        let bytes = match form {
            Form::Summaries => 42,
            Form::Names => 38,
            Form::Line => 47,
            Form::Count => 25,
            Form::Nothing => return 0,
        };
        ((self.text(form).len() + 1) * 10 * MILLI).div_ceil(bytes)
    }
}

const CONFIRM: &str = "[confirm]";

fn row(card: &Card) -> String {
    let mark = if card.confirm {
        format!(" {CONFIRM}")
    } else {
        String::new()
    };
    format!("- {}{mark}", one_word(&card.name))
}

fn tools(count: usize) -> String {
    match count {
        1 => "1 tool".to_owned(),
        _ => format!("{count} tools"),
    }
}

/// Names and summaries of foreign tools may hold anything.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where blanks keep names apart, none may be in a name.
fn one_word(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn cards() -> Vec<Card> {
        [
            ("a.x", true),
            ("b.one", false),
            ("a.y", false),
            ("b.two", false),
            ("b.three", true),
        ]
        .map(|(name, confirm)| Card {
            name: name.to_owned(),
            summary: format!("Does {name}"),
            parameters: json!({}),
            confirm,
            calls: Vec::new(),
        })
        .to_vec()
    }

    #[track_caller]
    fn check(summaries: bool, budget: Option<u32>, expect: &str) {
        assert_eq!(
            rows(&cards(), summaries, budget, &[]),
            expect,
            "{summaries} {budget:?}"
        );
    }

    #[test]
    fn a_catalogue_over_its_budget_says_less_the_largest_domain_first() {
        let whole = "- a.x [confirm]: Does a.x\n- a.y: Does a.y\n- b.one: Does b.one\n- b.two: Does b.two\n- b.three [confirm]: Does b.three";
        check(true, None, whole);
        check(true, Some(1000), whole);
        check(
            true,
            Some(20),
            "- a.x [confirm]: Does a.x\n- a.y: Does a.y\n- b.one\n- b.two\n- b.three [confirm]",
        );
        let names = "- a.x [confirm]\n- a.y\n- b.one\n- b.two\n- b.three [confirm]";
        check(true, Some(16), names);
        check(false, None, names);
        check(
            false,
            Some(12),
            "- a.x [confirm]\n- a.y\nb: one two [confirm] three",
        );
        let lines = "a: y [confirm] x\nb: one two [confirm] three";
        check(false, Some(10), lines);
        check(false, Some(3), lines);
        check(false, Some(1), "a: y [confirm] x\nand 3 tools of other domains");
        check(false, Some(0), "and 5 tools of other domains");
        assert_eq!(rows(&[], true, Some(0), &[]), "");
    }

    #[test]
    fn names_of_strangers_stay_one_word_in_one_line() {
        let mut card = cards().remove(0);
        card.name = "evil.x\n- mail.send".to_owned();
        for budget in [None, Some(1)] {
            let text = rows(std::slice::from_ref(&card), false, budget, &[]);
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(
                !text.contains(" mail.send") && !text.contains("- mail.send"),
                "{text}"
            );
        }
    }

    /// What servers bring: many tools of many domains, with names of any length.
    fn foreign(domains: usize, tools: usize, long: usize) -> Vec<Card> {
        let name = |i: usize| format!("server{}.{}_{i}", i % domains, "get_thing_".repeat(long));
        (0..tools)
            .map(|i| Card {
                name: name(i),
                summary: "Gets one thing of many".repeat(9),
                parameters: json!({}),
                confirm: i % 3 == 0,
                calls: Vec::new(),
            })
            .collect()
    }

    proptest! {
        // Each case makes thousands of names.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn however_many_tools_there_are_the_catalogue_stays_small(
            domains in 1usize..2_000, tools in 0usize..5_000, long in 0usize..40, budget in 1u32..400, summaries: bool,
        ) {
            let mut all = cards();
            all.extend(foreign(domains, tools, long));
            let text = rows(&all, summaries, Some(budget), &[]);
            let last = "and 5003 tools of other domains".len();
            let most = budget as usize * NAMES_GO * 47 / 10 + last;
            prop_assert!(text.len() <= most, "{} bytes of {most}: {text}", text.len());
            prop_assert!(!text.is_empty());
            prop_assert_eq!(&text, &rows(&all, summaries, Some(budget), &[]));
        }
    }

    /// Servers that bring thousands of tools take nothing from what ours say.
    #[test]
    fn a_server_with_thousands_of_tools_only_counts_them() {
        let mut all = cards();
        all.extend(foreign(1, 5_000, 1));
        check_all(
            &all,
            20,
            "a: y [confirm] x\nb: one two [confirm] three\nserver0: 5000 tools",
        );
    }

    #[track_caller]
    fn check_all(cards: &[Card], budget: u32, expect: &str) {
        assert_eq!(rows(cards, false, Some(budget), &[]), expect);
    }
}
