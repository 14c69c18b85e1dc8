//! What a run does in one folder, decided on data alone: what was agreed on, what is here, what is there.
//!
//! A message that is gone there is taken away here only when the server listed the part of its folder where it was. When
//! more than half of many are gone at once, on either side, nothing is taken away until the person says so.

use std::collections::{BTreeMap, BTreeSet};

use super::{maildir::Held, memory::Known};

/// More than so many at once are only believed when they are not most of the folder.
const MANY: usize = 20;

/// A message on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct There {
    /// Its flags, letters in order.
    pub flags: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What is known of a folder.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'s> {
    /// What both had last.
    pub known: &'s [Known],
    /// What is here, by name.
    pub here: &'s BTreeMap<String, Held>,
    /// What the server listed, by number.
    pub there: &'s BTreeMap<u32, There>,
    /// The lowest number that it would have listed.
    pub from: u32,
    /// Larger messages stay there.
    pub max_size: u64,
    /// Whether much may go at once.
    pub force: bool,
}

/// What to do in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Flags that differ: the message, what both should have.
    pub flags: Vec<(Known, String)>,
    /// Gone there, so to be taken away here.
    pub remove_here: Vec<Known>,
    /// Gone here, still there.
    pub gone_here: Vec<Known>,
    /// Gone on both sides.
    pub forget: Vec<u32>,
    /// New there, the latest first.
    pub pull: Vec<u32>,
    /// New here, by name.
    pub new_here: Vec<String>,
    /// New there and too large.
    pub too_large: usize,
    /// So many of so many were lost there; they stay here.
    pub lost_there: Option<(usize, usize)>,
    /// So many of so many were lost here; they stay there.
    pub lost_here: Option<(usize, usize)>,
}

/// Decides. `moved` are messages that are gone here because they were moved to another folder.
pub fn plan(sides: Sides<'_>, moved: &BTreeSet<u32>) -> Plan {
    let mut plan = Plan::default();
    let (mut bases, mut uids) = (BTreeSet::new(), BTreeSet::new());
    for known in sides.known {
        bases.insert(known.base.as_str());
        uids.insert(known.uid);
        let (here, there) = (sides.here.get(&known.base), sides.there.get(&known.uid));
        match (here, there) {
            (Some(here), Some(there)) => {
                let merged = merge(&known.flags, &here.flags, &there.flags);
                if merged != known.flags || merged != here.flags || merged != there.flags {
                    plan.flags.push((known.clone(), merged));
                }
            }
            (Some(_), None) if known.uid >= sides.from => plan.remove_here.push(known.clone()),
            // It is older than what is listed, so nobody said that it is gone.
            (Some(_), None) => {}
            (None, Some(_)) => plan.gone_here.push(known.clone()),
            (None, None) => plan.forget.push(known.uid),
        }
    }
    for (uid, there) in sides.there.iter().rev().filter(|(uid, _)| !uids.contains(uid)) {
        match there.size <= sides.max_size {
            true => plan.pull.push(*uid),
            false => plan.too_large += 1,
        }
    }
    let new = sides.here.keys().filter(|base| !bases.contains(base.as_str()));
    plan.new_here = new.cloned().collect();
    let all = sides.known.len();
    let too_many = |count: usize| !sides.force && count > MANY && count * 2 > all;
    if too_many(plan.remove_here.len()) {
        plan.lost_there = Some((plan.remove_here.len(), all));
        plan.remove_here.clear();
    }
    let deleted = plan
        .gone_here
        .iter()
        .filter(|known| !moved.contains(&known.uid))
        .count();
    if too_many(deleted) {
        plan.lost_here = Some((deleted, all));
        plan.gone_here.retain(|known| moved.contains(&known.uid));
    }
    plan
}

/// Each flag as whichever side changed it has it.
fn merge(agreed: &str, here: &str, there: &str) -> String {
    let pick = |flag: &char| {
        let was = agreed.contains(*flag);
        let (here, there) = (here.contains(*flag), there.contains(*flag));
        if here == was { there } else { here }
    };
    ['D', 'F', 'R', 'S', 'T'].into_iter().filter(pick).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(uid: u32, flags: &str) -> Known {
        Known {
            uid,
            base: format!("m{uid}"),
            flags: flags.to_owned(),
            hash: Vec::new(),
        }
    }

    fn here(all: &[(u32, &str)]) -> BTreeMap<String, Held> {
        let held = |(uid, flags): &(u32, &str)| {
            let held = Held {
                path: "x".into(),
                flags: (*flags).to_owned(),
                size: 1,
            };
            (format!("m{uid}"), held)
        };
        all.iter().map(held).collect()
    }

    fn there(all: &[(u32, &str)]) -> BTreeMap<u32, There> {
        let there = |(uid, flags): &(u32, &str)| {
            let there = There {
                flags: (*flags).to_owned(),
                size: u64::from(*uid),
            };
            (*uid, there)
        };
        all.iter().map(there).collect()
    }

    fn decide(known: &[Known], h: &[(u32, &str)], t: &[(u32, &str)], from: u32, force: bool) -> Plan {
        let (here, there) = (here(h), there(t));
        let sides = Sides {
            known,
            here: &here,
            there: &there,
            from,
            max_size: 500,
            force,
        };
        plan(sides, &BTreeSet::new())
    }

    #[test]
    fn flags_follow_whoever_changed_them() {
        #[track_caller]
        fn check(agreed: &str, here: &str, there: &str, expect: &str) {
            assert_eq!(merge(agreed, here, there), expect);
        }
        check("", "", "", "");
        check("", "S", "", "S");
        check("", "", "S", "S");
        check("S", "", "S", "");
        check("S", "S", "", "");
        check("S", "FS", "RS", "FRS");
        check("F", "S", "FR", "RS");
        check("S", "S", "S", "S");
    }

    #[test]
    fn each_side_is_told_what_the_other_did() {
        let agreed = [known(1, "S"), known(2, ""), known(3, ""), known(4, "")];
        let plan = decide(
            &agreed,
            &[(1, "S"), (2, ""), (9, "")],
            &[(1, "FS"), (3, ""), (7, ""), (600, "")],
            0,
            false,
        );
        assert_eq!(plan.flags, [(known(1, "S"), "FS".to_owned())]);
        assert_eq!(plan.remove_here, [known(2, "")]);
        assert_eq!(plan.gone_here, [known(3, "")]);
        assert_eq!(plan.forget, [4]);
        assert_eq!((plan.pull, plan.too_large), (vec![7], 1));
        assert_eq!(plan.new_here, ["m9"]);
    }

    #[test]
    fn what_was_not_listed_is_not_gone() {
        let agreed = [known(1, ""), known(2, "")];
        let plan = decide(&agreed, &[(1, ""), (2, "")], &[], 2, false);
        assert_eq!(plan.remove_here, [known(2, "")]);
    }

    #[test]
    fn a_side_that_loses_most_is_not_believed() {
        let agreed: Vec<Known> = (1..=30).map(|uid| known(uid, "")).collect();
        let all: Vec<(u32, &str)> = (1..=30).map(|uid| (uid, "")).collect();
        let lost = decide(&agreed, &all, &all[..5], 0, false);
        assert_eq!((lost.lost_there, lost.remove_here.len()), (Some((25, 30)), 0));
        let lost = decide(&agreed, &all[..5], &all, 0, false);
        assert_eq!((lost.lost_here, lost.gone_here.len()), (Some((25, 30)), 0));
        let forced = decide(&agreed, &all, &all[..5], 0, true);
        assert_eq!((forced.lost_there, forced.remove_here.len()), (None, 25));
        let few = decide(&agreed, &all, &all[..12], 0, false);
        assert_eq!((few.lost_there, few.remove_here.len()), (None, 18));
    }

    proptest! {
        /// Carried out on both sides, nothing is left to do, and nothing that only one side had was taken away.
        #[test]
        fn once_is_enough(
            agreed in proptest::collection::btree_map(1u32..40, "[FS]?", 0..30),
            here_now in proptest::collection::btree_map(1u32..40, "[FRS]?", 0..30),
            there_now in proptest::collection::btree_map(1u32..40, "[FRS]?", 0..30),
        ) {
            let agreed: Vec<Known> = agreed.iter().map(|(uid, flags)| known(*uid, flags)).collect();
            let mut h: Vec<(u32, &str)> = here_now.iter().map(|(uid, f)| (*uid, f.as_str())).collect();
            let mut t: Vec<(u32, &str)> = there_now.iter().map(|(uid, f)| (*uid, f.as_str())).collect();
            // A number that nobody agreed on is not on both sides by chance: names here come from numbers there.
            h.retain(|(uid, _)| agreed.iter().any(|k| k.uid == *uid) || !there_now.contains_key(uid));
            let plan = decide(&agreed, &h, &t, 0, true);
            let was = |uid: u32| agreed.iter().any(|k| k.uid == uid);
            for known in &plan.remove_here {
                prop_assert!(was(known.uid) && !there_now.contains_key(&known.uid));
            }
            for known in &plan.gone_here {
                prop_assert!(was(known.uid) && !h.iter().any(|(uid, _)| *uid == known.uid));
            }
            let mut next: Vec<Known> = Vec::new();
            for k in &agreed {
                let flags = plan.flags.iter().find(|(f, _)| f.uid == k.uid).map_or(&k.flags, |(_, f)| f);
                if h.iter().any(|(uid, _)| *uid == k.uid) && there_now.contains_key(&k.uid) {
                    next.push(Known { flags: flags.clone(), ..k.clone() });
                }
            }
            next.extend(plan.pull.iter().map(|uid| known(*uid, there_now[uid].as_str())));
            let flags: BTreeMap<u32, String> = next.iter().map(|k| (k.uid, k.flags.clone())).collect();
            h = flags.iter().map(|(uid, f)| (*uid, f.as_str())).collect();
            t = h.clone();
            prop_assert_eq!(decide(&next, &h, &t, 0, false), Plan::default());
        }
    }
}
