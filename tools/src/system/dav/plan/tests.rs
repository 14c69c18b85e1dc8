//! The table, and the proof that no version is lost.

use proptest::prelude::*;

use super::*;

/// A version: what a hash or an etag stands for here.
type Version = u8;

fn file(name: &str) -> File {
    File {
        place: Place::Events,
        name: name.to_owned(),
    }
}

fn hash(version: Version) -> Hash {
    [version; 32]
}

fn known(href: &str, name: &str, version: Version) -> Known {
    Known {
        href: href.to_owned(),
        etag: version.to_string(),
        file: Some((file(name), hash(version))),
        uid: Some(href.to_owned()),
        trouble: None,
    }
}

fn here(files: &[(&str, Version)]) -> BTreeMap<File, Here> {
    let one = |(name, version): &(&str, Version)| {
        let now = Here {
            hash: (*version != 0).then(|| hash(*version)),
            uid: None,
        };
        (file(name), now)
    };
    files.iter().map(one).collect()
}

fn there(items: &[(&str, Version)]) -> Changes {
    Changes {
        full: true,
        present: items
            .iter()
            .map(|(href, version)| ((*href).to_owned(), version.to_string()))
            .collect(),
        ..Changes::default()
    }
}

/// One item that both sides last had as version 1, as it is here and there now.
#[track_caller]
fn check(now_here: Option<Version>, now_there: Option<Version>, expect: &str) {
    let files: Vec<_> = now_here.map(|v| ("f", v)).into_iter().collect();
    let items: Vec<_> = now_there.map(|v| ("h", v)).into_iter().collect();
    let all = plan(
        &[known("h", "f", 1)],
        &here(&files),
        &there(&items),
        Bounds::default(),
    )
    .unwrap();
    // The same from a list of what changed.
    let mut since = there(&[]);
    since.full = false;
    match now_there {
        Some(1) => {}
        Some(v) => drop(since.present.insert("h".to_owned(), v.to_string())),
        None => drop(since.gone.insert("h".to_owned())),
    }
    let changed = plan(&[known("h", "f", 1)], &here(&files), &since, Bounds::default()).unwrap();
    assert_eq!(all, changed);
    let words = |a: &Action| match a {
        Action::Pull { file, .. } => if file.is_some() { "pull" } else { "pull new" }.to_owned(),
        Action::Reconcile { .. } => "reconcile".to_owned(),
        Action::Push { href, etag, .. } => format!(
            "push {} over {}",
            href.as_deref().unwrap_or("new"),
            etag.as_deref().unwrap_or("nothing")
        ),
        Action::RemoveHere { .. } => "remove here".to_owned(),
        Action::RemoveThere { etag, .. } => format!("remove there {etag}"),
        Action::Rename { .. } => "rename".to_owned(),
        Action::Forget { .. } => "forget".to_owned(),
    };
    assert_eq!(all.iter().map(words).collect::<Vec<_>>().join(", "), expect);
}

#[test]
fn every_pair_of_changes() {
    check(Some(1), Some(1), "");
    check(Some(1), Some(2), "pull");
    check(Some(1), None, "remove here");
    check(Some(2), Some(1), "push h over 1");
    check(Some(2), Some(3), "reconcile");
    check(Some(2), None, "push h over nothing");
    check(None, Some(1), "remove there 1");
    check(None, Some(2), "pull");
    check(None, None, "forget");
    // What cannot be read is left alone, whatever the server does.
    check(Some(0), Some(1), "");
    check(Some(0), Some(2), "");
    check(Some(0), None, "");
}

#[test]
fn new_items_go_both_ways() {
    let actions = plan(
        &[],
        &here(&[("f", 1), ("broken", 0)]),
        &there(&[("h", 1)]),
        Bounds::default(),
    )
    .unwrap();
    assert!(matches!(
        &actions[..],
        [Action::Pull { file: None, .. }, Action::Push { href: None, .. }]
    ));
}

#[test]
fn a_file_with_a_new_name_is_the_same_item() {
    let uid = Some("h".to_owned());
    let mut files = here(&[("g", 1)]);
    files.values_mut().for_each(|now| now.uid.clone_from(&uid));
    let actions = plan(
        &[known("h", "f", 1)],
        &files,
        &there(&[("h", 1)]),
        Bounds::default(),
    )
    .unwrap();
    assert_eq!(
        actions,
        [Action::Rename {
            href: "h".into(),
            file: file("g")
        }]
    );
    // Two files with the UID: nobody knows which it is, so both are new and the old one is gone.
    let mut files = here(&[("g", 1), ("i", 2)]);
    files.values_mut().for_each(|now| now.uid.clone_from(&uid));
    let actions = plan(
        &[known("h", "f", 1)],
        &files,
        &there(&[("h", 1)]),
        Bounds::default(),
    )
    .unwrap();
    assert!(matches!(
        &actions[..],
        [
            Action::RemoveThere { .. },
            Action::Push { .. },
            Action::Push { .. }
        ]
    ));
}

#[test]
fn a_version_without_a_name_is_asked_for_each_time() {
    let mut item = known("h", "f", 1);
    item.etag.clear();
    let mut server = there(&[("h", 1)]);
    server.present.insert("h".into(), String::new());
    let actions = plan(&[item], &here(&[("f", 1)]), &server, Bounds::default()).unwrap();
    assert!(matches!(&actions[..], [Action::Pull { .. }]));
}

#[test]
fn an_empty_side_stops_everything() {
    let names: Vec<String> = (0..20).map(|n| format!("n{n:02}")).collect();
    let check = |items: usize, gone_here: bool, gone_there: bool, bounds: Bounds, expect: Option<Alarm>| {
        let all: Vec<(&str, Version)> = names[..items].iter().map(|n| (n.as_str(), 1)).collect();
        let rows: Vec<Known> = all.iter().map(|(n, _)| known(n, n, 1)).collect();
        let files = here(if gone_here { &[] } else { &all });
        let full = there(if gone_there { &[] } else { &all });
        let mut since = there(&[]);
        since.full = false;
        if gone_there {
            since.gone = all.iter().map(|(n, _)| (*n).to_owned()).collect();
        }
        for server in [full, since] {
            let planned = plan(&rows, &files, &server, bounds);
            assert_eq!(planned.err(), expect, "{items} {gone_here} {gone_there}");
        }
    };
    let (plain, force) = (
        Bounds::default(),
        Bounds {
            force: true,
            folder_missing: true,
        },
    );
    let missing = Bounds {
        force: false,
        folder_missing: true,
    };
    check(11, false, true, plain, Some(Alarm::EmptyThere(11)));
    check(11, true, false, plain, Some(Alarm::EmptyHere(11)));
    check(2, false, true, plain, Some(Alarm::EmptyThere(2)));
    check(1, false, true, plain, None);
    check(10, true, false, plain, None);
    check(3, true, false, missing, Some(Alarm::EmptyHere(3)));
    check(11, true, true, plain, None);
    check(20, false, true, force, None);
    check(20, true, false, force, None);
}

#[test]
fn a_server_that_lost_most_of_many_items_stops_everything() {
    let names: Vec<String> = (0..20).map(|n| format!("n{n:02}")).collect();
    let check = |items: usize, lost: usize, expect: Option<Alarm>| {
        let all: Vec<(&str, Version)> = names[..items].iter().map(|n| (n.as_str(), 1)).collect();
        let rows: Vec<Known> = all.iter().map(|(n, _)| known(n, n, 1)).collect();
        let planned = plan(&rows, &here(&all), &there(&all[lost..]), Bounds::default());
        assert_eq!(planned.err(), expect, "{lost} of {items}");
        let force = Bounds {
            force: true,
            folder_missing: false,
        };
        assert!(plan(&rows, &here(&all), &there(&all[lost..]), force).is_ok());
    };
    check(11, 6, Some(Alarm::LostThere(6, 11)));
    check(11, 5, None);
    check(12, 6, None);
    check(20, 19, Some(Alarm::LostThere(19, 20)));
    check(10, 9, None);
    // A change that waits here is no reason to take the rest away.
    let rows = [known("a", "a", 1), known("b", "b", 1)];
    let planned = plan(
        &rows,
        &here(&[("a", 1), ("b", 2)]),
        &there(&[]),
        Bounds::default(),
    );
    assert_eq!(planned, Err(Alarm::EmptyThere(2)));
}

/// Two sides, what is remembered, and everything that anybody ever removed on purpose.
#[derive(Debug, Default)]
struct World {
    here: BTreeMap<String, Version>,
    there: BTreeMap<String, Version>,
    known: BTreeMap<String, (String, Version)>,
    next: Version,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    WriteHere(u8),
    WriteThere(u8),
    RemoveHere(u8),
    RemoveThere(u8),
    Sync,
    /// A run that ends after so many actions.
    Killed(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..5u8).prop_map(Op::WriteHere),
        4 => (0..5u8).prop_map(Op::WriteThere),
        2 => (0..5u8).prop_map(Op::RemoveHere),
        2 => (0..5u8).prop_map(Op::RemoveThere),
        2 => Just(Op::Sync),
        1 => (0..6usize).prop_map(Op::Killed),
    ]
}

impl World {
    fn apply(&mut self, op: Op) {
        self.next += 1;
        let name = |n: u8| format!("i{n}");
        match op {
            Op::WriteHere(n) => drop(self.here.insert(name(n), self.next)),
            Op::WriteThere(n) => drop(self.there.insert(name(n), self.next)),
            Op::RemoveHere(n) => drop(self.here.remove(&name(n))),
            Op::RemoveThere(n) => drop(self.there.remove(&name(n))),
            Op::Sync => {
                self.sync(usize::MAX);
                self.sync(usize::MAX);
            }
            Op::Killed(after) => self.sync(after),
        }
    }

    fn sync(&mut self, steps: usize) {
        let before = self.versions();
        let purpose = self.removed_on_purpose();
        let rows: Vec<Known> = self.known.iter().map(|(h, (f, v))| known(h, f, *v)).collect();
        let files: Vec<_> = self.here.iter().map(|(f, v)| (f.as_str(), *v)).collect();
        let items: Vec<_> = self.there.iter().map(|(h, v)| (h.as_str(), *v)).collect();
        // Both sides are small enough here to become empty on purpose.
        let force = Bounds {
            force: true,
            folder_missing: false,
        };
        let actions = plan(&rows, &here(&files), &there(&items), force).unwrap();
        for action in actions.into_iter().take(steps) {
            self.act(action);
            self.verify_invariants(&before, &purpose);
        }
        if steps == usize::MAX {
            assert!(self.is_in_step() || self.has_copies(), "{self:?}");
        }
    }

    /// Every version of either side.
    fn versions(&self) -> BTreeSet<Version> {
        self.here.values().chain(self.there.values()).copied().collect()
    }

    /// Versions that one side removed while the other had not changed them.
    fn removed_on_purpose(&self) -> BTreeSet<Version> {
        let superseded = |(href, (file, version)): (&String, &(String, Version))| {
            let (here, there) = (self.here.get(file), self.there.get(href));
            (here != Some(version) || there != Some(version)).then_some(*version)
        };
        self.known.iter().filter_map(superseded).collect()
    }

    fn verify_invariants(&self, before: &BTreeSet<Version>, purpose: &BTreeSet<Version>) {
        let now = self.versions();
        for version in before.difference(purpose) {
            assert!(now.contains(version), "version {version} is lost: {self:?}");
        }
    }

    fn is_in_step(&self) -> bool {
        self.here == self.there
    }

    fn has_copies(&self) -> bool {
        self.here.keys().any(|name| name.contains("copy"))
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Pull { href, file } => {
                let name = file.map_or_else(|| href.clone(), |f| f.name);
                let version = self.there[&href];
                // A file that nobody remembers has the name already: the run sees that when it writes.
                match self.here.get(&name) {
                    Some(ours) if !self.known.contains_key(&href) && *ours != version => {
                        self.conflict(&href, &name)
                    }
                    _ => drop(self.here.insert(name.clone(), version)),
                }
                self.known.insert(href, (name, version));
            }
            Action::Reconcile { href, file } => {
                self.conflict(&href, &file.name);
                self.known.insert(href.clone(), (file.name, self.there[&href]));
            }
            Action::Push { file, href, etag } => {
                let href = href.unwrap_or_else(|| file.name.clone());
                let there = self.there.get(&href).map(ToString::to_string);
                // The server's own guard.
                if there == etag && !(etag.is_none() && self.there.contains_key(&href)) {
                    let version = self.here[&file.name];
                    self.there.insert(href.clone(), version);
                    self.known.insert(href, (file.name, version));
                }
            }
            Action::RemoveHere { href, file } => {
                self.here.remove(&file.name);
                self.known.remove(&href);
            }
            Action::RemoveThere { href, etag, .. } => {
                assert_eq!(self.there[&href].to_string(), etag);
                self.there.remove(&href);
                self.known.remove(&href);
            }
            Action::Rename { .. } => panic!("no UIDs here"),
            Action::Forget { href } => drop(self.known.remove(&href)),
        }
    }

    fn conflict(&mut self, href: &str, name: &str) {
        let (ours, theirs) = (self.here[name], self.there[href]);
        if ours != theirs {
            self.here.insert(format!("{name}-copy{ours}"), ours);
            self.here.insert(name.to_owned(), theirs);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_ever_lost(ops in prop::collection::vec(op(), 1..60)) {
        let mut world = World::default();
        for op in ops {
            world.apply(op);
        }
        world.sync(usize::MAX);
        world.sync(usize::MAX);
        prop_assert!(world.is_in_step(), "{:?}", world);
    }
}
