//! Lists for shopping and packing: VTODOs without a time, each list a vdir collection. They have a root of their own
//! (`lists/`), so that what is to be bought is not among what is to be done; who keeps lists on a server as task lists
//! points `lists.dir` at the folder that is synchronised.

use rust_stemmers::{Algorithm, Stemmer};

use super::{
    calendar::{self, Todo},
    plain, todos,
    vdir::Collection,
    which::{self, Kind},
};
use crate::contract::{Ctx, ToolError};

/// How lists are talked about.
pub const LIST: Kind = Kind {
    one: "list",
    many: "lists",
};

/// How what is on them is.
pub const ITEM: Kind = Kind {
    one: "item",
    many: "items",
};

/// Longest list; more is no list that anybody reads.
pub const MAX_ITEMS: usize = 500;

/// What goes into one breath and is one thing all the same.
const PAIRS: [&str; 8] = [
    "mac and cheese",
    "macaroni and cheese",
    "salt and pepper",
    "fish and chips",
    "half and half",
    "peanut butter and jelly",
    "bread and butter pickles",
    "head and shoulders",
];

/// The lists that are there.
///
/// # Errors
/// When the store cannot be read.
pub fn all(ctx: &Ctx) -> Result<Vec<Collection>, ToolError> {
    todos::lists(&ctx.dirs.lists)
}

/// What is on a list, in the order in which it is read out.
///
/// # Errors
/// When the store cannot be read.
pub fn items(list: &Collection, ctx: &Ctx) -> Result<Vec<Todo>, ToolError> {
    let mut items = calendar::todos(&ctx.dirs.lists, &ctx.now)
        .map_err(|e| e.tool("read the list"))?
        .items;
    items.retain(|item| item.path.parent() == Some(list.path.as_path()));
    Ok(items)
}

/// The list that somebody means; without a name the only one.
///
/// # Errors
/// `Tell`: there is none, none of that name, or it asks which.
pub fn choose<'a>(said: Option<&str>, lists: &'a [Collection]) -> Result<&'a Collection, ToolError> {
    if lists.is_empty() {
        return Err(ToolError::tell(
            "There is no list yet. Say what to put on which list, and I make it.",
        ));
    }
    which::one(
        said.unwrap_or_default(),
        LIST,
        lists,
        |l| &l.name,
        |l| l.name.clone(),
    )
}

/// "shopping" of "my shopping list"; "grocery list" keeps its name.
pub fn name(said: &str) -> String {
    plain::one_line(&which::bare(said, LIST), 60)
}

/// Several things in one breath: "milk, eggs and bread" is three.
pub fn split(said: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for text in said {
        for part in text.split([',', ';', '\n']) {
            let part = part.trim();
            let part = ["and ", "also ", "plus "]
                .iter()
                .find_map(|word| {
                    part.get(..word.len())
                        .filter(|p| p.eq_ignore_ascii_case(word))
                        .map(|_| &part[word.len()..])
                })
                .unwrap_or(part);
            if PAIRS.iter().any(|pair| part.to_lowercase().contains(pair)) {
                out.push(one(part));
            } else {
                out.extend(part.split(" and ").map(one));
            }
        }
    }
    out.retain(|item| !item.is_empty() && !item.eq_ignore_ascii_case("and"));
    out
}

/// Whether two things are the same: "Eggs" and "egg".
pub fn same(a: &str, b: &str) -> bool {
    let stemmer = Stemmer::create(Algorithm::English);
    let key = |text: &str| {
        let words = text.to_lowercase();
        words
            .split_whitespace()
            .map(|w| stemmer.stem(w).into_owned())
            .collect::<Vec<_>>()
    };
    key(a) == key(b)
}

fn one(text: &str) -> String {
    let text = plain::one_line(text, 120);
    let rest = ["some ", "the ", "a ", "an "].iter().find_map(|word| {
        text.get(..word.len())
            .filter(|p| p.eq_ignore_ascii_case(word))
            .map(|_| &text[word.len()..])
    });
    rest.unwrap_or(&text)
        .trim_end_matches(['.', '!', '?'])
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_breath_holds_several_things() {
        #[track_caller]
        fn check(said: &[&str], expect: &[&str]) {
            let said: Vec<String> = said.iter().map(|s| (*s).to_owned()).collect();
            assert_eq!(split(&said), expect, "{said:?}");
        }
        check(&["milk, eggs and bread"], &["milk", "eggs", "bread"]);
        check(&["milk", "eggs"], &["milk", "eggs"]);
        check(&["milk, eggs, and some bread."], &["milk", "eggs", "bread"]);
        check(
            &["mac and cheese, salt and pepper"],
            &["mac and cheese", "salt and pepper"],
        );
        check(&["two percent milk"], &["two percent milk"]);
        check(&["a rain jacket and the brandy"], &["rain jacket", "brandy"]);
        check(&["", " , and ", "."], &[]);
    }

    #[test]
    fn the_same_thing_has_several_spellings() {
        for (a, b, expect) in [
            ("Eggs", "egg", true),
            ("MILK", "milk", true),
            ("milk", "oat milk", false),
            ("AA batteries 4", "AA batteries 8", false),
            ("", "milk", false),
        ] {
            assert_eq!(same(a, b), expect, "{a} {b}");
        }
    }
}
