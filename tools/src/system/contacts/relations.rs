//! What somebody is to the person: mom, sister, boss.
//!
//! A relation is read from three places. Each is where some program or Tiro puts it:
//! - the contact's own card, which says what the person is to them: `RELATED;TYPE=sibling;X-TIRO-IS=sister:me`. RFC 6350
//!   section 6.6.6 has `RELATED` name the other one and `TYPE` say what that other one is; the word that was said stands
//!   in a parameter, since "sibling" is neither sister nor brother. Tiro writes this one, because no address book marks
//!   which card is the person's own;
//! - the person's own card, where it is marked (`RELATED;TYPE=me`, or the category "me"): `RELATED`, Apple's
//!   `X-ABRELATEDNAMES` with its `X-ABLABEL`, and `X-EVOLUTION-SPOUSE` and the like;
//! - what the person told Tiro to remember: "Eva is my sister".

/// Word; what such a one is to the person and the person to them, as `TYPE` of `RELATED`; other words for it.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

const RELATIONS: &[Row] = &[
    (
        "mother",
        "parent",
        "child",
        &["mom", "mum", "mummy", "mommy", "mama", "ma", "mam"],
    ),
    (
        "father",
        "parent",
        "child",
        &["dad", "daddy", "papa", "pa", "pop"],
    ),
    ("parent", "parent", "child", &["parents"]),
    ("sister", "sibling", "sibling", &["sis"]),
    ("brother", "sibling", "sibling", &["bro"]),
    ("sibling", "sibling", "sibling", &["siblings"]),
    ("wife", "spouse", "spouse", &[]),
    ("husband", "spouse", "spouse", &["hubby"]),
    ("spouse", "spouse", "spouse", &[]),
    ("partner", "sweetheart", "sweetheart", &["domestic partner"]),
    ("girlfriend", "sweetheart", "sweetheart", &[]),
    ("boyfriend", "sweetheart", "sweetheart", &[]),
    ("son", "child", "parent", &[]),
    ("daughter", "child", "parent", &[]),
    ("child", "child", "parent", &["kid", "children", "kids"]),
    (
        "grandmother",
        "kin",
        "kin",
        &["grandma", "granny", "nan", "nana", "gran", "oma"],
    ),
    (
        "grandfather",
        "kin",
        "kin",
        &["grandpa", "granddad", "grandad", "opa"],
    ),
    ("aunt", "kin", "kin", &["auntie", "aunty"]),
    ("uncle", "kin", "kin", &[]),
    ("cousin", "kin", "kin", &[]),
    ("niece", "kin", "kin", &[]),
    ("nephew", "kin", "kin", &[]),
    ("mother in law", "kin", "kin", &["mum in law", "mom in law"]),
    ("father in law", "kin", "kin", &["dad in law"]),
    ("sister in law", "kin", "kin", &[]),
    ("brother in law", "kin", "kin", &[]),
    (
        "boss",
        "colleague",
        "colleague",
        &["manager", "supervisor", "chief"],
    ),
    ("assistant", "colleague", "colleague", &["secretary"]),
    ("colleague", "colleague", "colleague", &["coworker", "co worker"]),
    ("friend", "friend", "friend", &["best friend", "buddy", "mate"]),
    ("neighbour", "neighbor", "neighbor", &["neighbor"]),
    (
        "flatmate",
        "co-resident",
        "co-resident",
        &["roommate", "room mate", "flat mate", "housemate"],
    ),
    ("doctor", "contact", "contact", &["gp", "physician"]),
    ("dentist", "contact", "contact", &[]),
    ("lawyer", "contact", "contact", &["attorney", "solicitor"]),
    ("landlord", "contact", "contact", &["landlady"]),
    ("teacher", "contact", "contact", &[]),
    ("therapist", "contact", "contact", &[]),
];

/// A word that says what somebody is to the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    /// The usual word for it.
    pub word: &'static str,
    /// What such a one is to the person, as RFC 6350 has it.
    kind: &'static str,
    /// What the person is to them.
    pub inverse: &'static str,
    also: &'static [&'static str],
}

impl Relation {
    /// Reads "mom", "my sister", "my sister's", "_$!<Mother>!$_" (as Apple writes labels).
    pub fn of(said: &str) -> Option<Relation> {
        let lower = said.to_lowercase();
        let bare = lower
            .trim_start_matches("_$!<")
            .trim_end_matches(">!$_")
            .replace(['-', '_'], " ");
        let bare = bare.trim();
        let bare = bare.strip_prefix("my ").unwrap_or(bare);
        let bare = ["'s", "’s", " s"]
            .iter()
            .find_map(|end| bare.strip_suffix(end))
            .unwrap_or(bare);
        let row = RELATIONS
            .iter()
            .find(|(word, _, _, also)| *word == bare || also.contains(&bare))?;
        let &(word, kind, inverse, also) = row;
        Some(Relation {
            word,
            kind,
            inverse,
            also,
        })
    }

    /// Whether somebody labelled so is meant. A card that only says "sibling" may mean the sister.
    pub fn fits(&self, label: &str) -> bool {
        Relation::of(label).is_some_and(|other| {
            other.word == self.word
                || (other.kind == self.kind && (other.word == other.kind || self.word == self.kind))
        })
    }

    /// Other words for the same, for contacts that are called "Mum".
    pub fn synonyms(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.word).chain(self.also.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_one_relation_agree() {
        #[track_caller]
        fn check(said: &str, label: &str, fits: bool) {
            assert_eq!(Relation::of(said).unwrap().fits(label), fits, "{said} {label}");
        }
        check("my mom", "mother", true);
        check("mum's", "_$!<Mother>!$_", true);
        check("my sister", "Sister", true);
        check("my sister", "brother", false);
        check("my sister", "sibling", true);
        check("my wife", "SPOUSE", true);
        check("my boss", "Manager", true);
        check("my uncle", "aunt", false);
        for stranger in ["anna", "", "my", "sisters of mercy", "\u{202e}"] {
            assert_eq!(Relation::of(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn each_word_stands_for_one_relation() {
        let mut words: Vec<&str> = RELATIONS
            .iter()
            .flat_map(|row| std::iter::once(&row.0).chain(row.3))
            .copied()
            .collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
