//! Scores tools for a query: names and keywords for short queries, BM25 over everything for all of them.
//!
//! BM25 is computed here rather than by the `bm25` crate because normalising and abstaining need what the crate
//! keeps to itself: the weight of each term, and the weight of those that no tool knows.

use std::{borrow::Cow, collections::HashMap};

use super::{
    Doc, Tier,
    words::{self, Forms, Lexicon, Normaliser},
};

/// Saturation and length normalisation of BM25, Robertson's usual values (DESIGN section 3).
const K1: f32 = 1.5;
const B: f32 = 0.75;
/// How often a word counts in each field: a word of the name says more than one of an example.
const NAME_WEIGHT: f32 = 3.0;
const SUMMARY_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;
const EXAMPLE_WEIGHT: f32 = 1.0;
/// What a word that only resembles an indexed one counts, against 1 for the word itself.
const RESEMBLANCE: f32 = 0.35;
/// What the form of the sentence counts; it decides between tools that the words fit alike, and finds none itself.
const FORM_WEIGHT: f32 = 1.0;
/// What the tool's own domain adds when the query or the caller names it.
const DOMAIN_BOOST: f32 = 0.10;
/// The deterministic tier and the guesses at misheard words answer only queries of so few content words: on
/// sentences they fire on ordinary words, at 40 % precision (DESIGN section 3).
const SHORT: usize = 4;
/// How alike (Jaro-Winkler) a name must be to count as the name misheard.
const NEAR_NAME: f64 = 0.93;
/// How alike each word of a name must be when all of them were said.
const NEAR_PART: f64 = 0.85;
/// How alike a word must be to count as an indexed word misheard.
const NEAR_WORD: f64 = 0.90;
/// Shortest name that may be known by its letters, in bytes.
const NAME_LETTERS: usize = 5;
/// Shortest word that stands for a longer one, in bytes.
const SHORTENED: usize = 3;
/// Range of normalised BM25 scores, under the floor of the deterministic tier.
pub const LOWEST: f32 = 0.05;
pub const HIGHEST: f32 = 0.79;
/// What a content word that no tool knows takes from the confidence, in units of an indexed word: it may be a name or
/// a time, which is no evidence against a tool, or the one word that matters.
const UNKNOWN: f32 = 0.9;
/// The evidence at which half of the confidence is reached; one rare word of a name gives about 4.
const HALF: f32 = 4.0;

/// Terms, their weights in each tool, and the names.
pub struct Ranking {
    lexicon: Lexicon,
    ids: HashMap<String, usize>,
    terms: Vec<Term>,
    /// Terms by the class of words that sound alike, for words that are misheard.
    by_sound: HashMap<String, Vec<usize>>,
    by_initial: HashMap<char, Vec<usize>>,
    names: Vec<Name>,
    /// Where a name has to be looked for that a query could mean.
    places: Places,
    /// What an unknown word could have given: the mean of the best that each term gives.
    typical: f32,
}

/// Names by what a query must have in common with one to mean it; all of them ascending.
#[derive(Default)]
struct Places {
    /// Those whose words are these when they are written as one.
    joined: HashMap<String, Vec<usize>>,
    /// Those of so many words.
    words: HashMap<usize, Vec<usize>>,
    /// Those with a term in the name itself, by the term.
    term: HashMap<usize, Vec<usize>>,
    /// Those of nothing but stop words.
    bare: Vec<usize>,
    /// The tools that have this as an example, by its words.
    examples: HashMap<String, Vec<usize>>,
    /// The letters of the names, whole or without their domain, that are long enough to be known by them.
    letters: Vec<(Letters, usize)>,
}

/// One stem.
struct Term {
    stem: String,
    /// Tool and weight, idf included, tools ascending.
    postings: Vec<(usize, f32)>,
    /// The largest of these weights.
    peak: f32,
}

/// A tool's name, taken apart.
struct Name {
    words: Vec<String>,
    sounds: Vec<Box<str>>,
    /// All words in one, so that split and merged words compare.
    joined: String,
    /// The same without the domain.
    verb: String,
    stems: Vec<usize>,
    domain: Option<usize>,
    /// Stems of name, summary and parameters, sorted.
    keywords: Vec<usize>,
}

/// A query, taken apart once.
pub struct Query<'a> {
    words: Vec<String>,
    forms: Vec<Cow<'a, Forms>>,
    /// All words in one.
    joined: String,
    /// The terms that its words and its content words are, as they were said.
    terms: Vec<usize>,
    content: Vec<Word>,
    /// The terms of the content words, if the index knows all of them as they were said.
    known: Option<Vec<usize>>,
    /// The term for asking or ordering.
    form: Option<usize>,
}

impl Query<'_> {
    /// All words, stop words too.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The forms of each of them.
    pub fn forms(&self) -> impl Iterator<Item = &Forms> + Clone {
        self.forms.iter().map(|f| &**f)
    }

    /// Whether a name was said and not only words of it: in full, without its domain, or nothing but the domain.
    fn is_whole(&self, name: &Name) -> bool {
        let only = |id: usize| matches!(&self.content[..], [word] if word.term == Some((id, 1.0)));
        contains(&self.words, &name.words)
            || (self.joined == name.verb && name.words.len() > 2)
            || name.domain.is_some_and(only)
            || self.sounds_like(name)
    }

    /// Whether these are the words of the name, one by one, as a recogniser may have taken them: spelt otherwise but
    /// sounding the same, or nearly the same.
    fn sounds_like(&self, name: &Name) -> bool {
        let alike = |i: usize| {
            let (said, meant) = (&self.words[i], &name.words[i]);
            said == meant
                || (!name.sounds[i].is_empty() && *self.forms[i].sound == *name.sounds[i])
                || (meant.len() >= 4 && strsim::jaro_winkler(said, meant) >= NEAR_PART)
        };
        let n = name.words.len();
        (2..=SHORT).contains(&n) && self.words.len() == n && (0..n).all(alike)
    }
}

/// A content word of the query.
struct Word {
    text: String,
    /// The term it is or resembles, and what that counts.
    term: Option<(usize, f32)>,
}

impl Name {
    /// Whether a word is one of the name's, or the long form of one that the name shortens, as `app` does.
    fn has(&self, word: &Word) -> bool {
        word.term.is_some_and(|(id, _)| self.stems.contains(&id))
            || self
                .words
                .iter()
                .any(|own| own.len() >= SHORTENED && word.text.starts_with(own.as_str()))
    }
}

/// A scored tool.
#[derive(Clone)]
pub struct Hit {
    pub doc: usize,
    pub score: f32,
    pub tier: Tier,
    /// Breaks ties: how alike query and name are.
    pub likeness: f64,
    /// Whether the whole name was said, well or badly, and not only words of it.
    pub whole: bool,
    /// Whether its words were said among others: in a sentence they may be about something else.
    pub within: bool,
    /// Whether some of what was said stands in its description only.
    pub described: bool,
}

impl Ranking {
    /// Counts the words of every tool.
    pub fn build(docs: &[Doc]) -> Ranking {
        let mut this = Ranking {
            lexicon: Lexicon::default(),
            ids: HashMap::new(),
            terms: Vec::new(),
            by_sound: HashMap::new(),
            by_initial: HashMap::new(),
            names: Vec::new(),
            places: Places::default(),
            typical: 0.0,
        };
        let counts: Vec<HashMap<usize, f32>> = docs.iter().map(|doc| this.count(doc)).collect();
        this.weigh(&counts);
        this.place(docs);
        this
    }

    /// Puts every name and example where it will be looked for.
    fn place(&mut self, docs: &[Doc]) {
        let places = &mut self.places;
        for (doc, example) in docs
            .iter()
            .enumerate()
            .flat_map(|(i, d)| d.examples.iter().map(move |e| (i, e)))
        {
            let words = words::asked(words::split(example)).join(" ");
            places.examples.entry(words).or_default().push(doc);
        }
        for (doc, name) in self.names.iter().enumerate() {
            places.joined.entry(name.joined.clone()).or_default().push(doc);
            places.words.entry(name.words.len()).or_default().push(doc);
            for id in &name.stems {
                let docs = places.term.entry(*id).or_default();
                if docs.last() != Some(&doc) {
                    docs.push(doc);
                }
            }
            if name.stems.is_empty() {
                places.bare.push(doc);
            }
            let parts = [&name.joined, &name.verb].into_iter();
            let long = parts.filter(|part| part.len() >= NAME_LETTERS);
            places.letters.extend(long.map(|part| (letters(part), doc)));
        }
    }

    /// Takes a query apart; the index decides which words it knows.
    pub fn parse(&self, text: &str) -> Query<'_> {
        let words = words::asked(words::split(text));
        let forms: Vec<_> = words.iter().map(|w| self.lexicon.forms(w)).collect();
        let mut content: Vec<String> = words
            .iter()
            .filter(|w| !words::is_stop_word(w))
            .cloned()
            .collect();
        let known: Vec<Option<usize>> = forms.iter().map(|f| self.ids.get(&*f.stem).copied()).collect();
        // A recogniser splits words that it does not know; "to do" is "todo" if the index knows that.
        for (pair, known) in words.windows(2).zip(known.windows(2)) {
            if known.iter().all(Option::is_some) {
                continue;
            }
            let joined = pair.concat();
            if self.id(&joined).is_some() {
                content.retain(|w| !pair.contains(w));
                content.push(joined);
            }
        }
        let guess = content.len() <= SHORT;
        let mut parsed: Vec<Word> = Vec::with_capacity(content.len());
        for text in content {
            if parsed.iter().any(|w| w.text == text) {
                continue;
            }
            let term = match self.id(&text) {
                Some(id) => Some((id, 1.0)),
                None if guess => self.resembling(&text).map(|id| (id, RESEMBLANCE)),
                None => None,
            };
            parsed.push(Word { text, term });
        }
        let certain = parsed.iter().filter_map(|w| w.term).filter(|t| t.1 == 1.0);
        let terms = known.into_iter().flatten().chain(certain.map(|t| t.0)).collect();
        let form = words::form(&words).and_then(|form| self.ids.get(form).copied());
        Query {
            joined: words.concat(),
            words,
            forms,
            terms,
            known: parsed
                .iter()
                .map(|w| w.term.filter(|t| t.1 == 1.0).map(|t| t.0))
                .collect(),
            content: parsed,
            form,
        }
    }

    /// Every tool that the query names, unsorted.
    pub fn named(&self, query: &Query) -> Vec<Hit> {
        let hit = |(doc, by_letters)| {
            let name: &Name = &self.names[doc];
            let (score, tier) = self.deterministic(query, name, by_letters)?;
            let likeness = strsim::jaro_winkler(&query.joined, &name.joined);
            Some(Hit {
                doc,
                score,
                tier,
                likeness,
                whole: likeness >= NEAR_NAME || query.is_whole(name),
                within: query.words.len() > name.words.len()
                    && likeness < NEAR_NAME
                    && contains(&query.words, &name.words),
                described: tier == Tier::Keyword && !query.content.iter().all(|word| name.has(word)),
            })
        };
        self.nameable(query).into_iter().filter_map(hit).collect()
    }

    /// Every tool that the query could name, each once, and whether the letters allow that it is the name misheard: of
    /// thousands few have anything in common with it.
    fn nameable(&self, query: &Query) -> Vec<(usize, bool)> {
        let places = &self.places;
        let same = places.joined.get(&query.joined);
        let mut docs: Vec<usize> = same.into_iter().flatten().copied().collect();
        if query.words.len() <= SHORT {
            let of_as_many = places.words.get(&query.words.len()).into_iter().flatten();
            docs.extend(of_as_many.filter(|doc| query.sounds_like(&self.names[**doc])));
        }
        let mut found: Vec<(usize, bool)> = docs.into_iter().map(|doc| (doc, false)).collect();
        // A long query names a tool only when it is the name in full.
        if !query.content.is_empty() && query.content.len() <= SHORT {
            let sharing = query.terms.iter().filter_map(|id| places.term.get(id));
            found.extend(sharing.flatten().chain(&places.bare).map(|doc| (*doc, false)));
            let said = letters(&query.joined);
            let near = places
                .letters
                .iter()
                .filter(|(meant, _)| could_be_near(&said, meant));
            found.extend(near.map(|(_, doc)| (*doc, true)));
        }
        // Of the same tool the one comes first that says more.
        found.sort_unstable_by_key(|(doc, by_letters)| (*doc, !by_letters));
        found.dedup_by_key(|(doc, _)| *doc);
        found
    }

    /// The tools that have this sentence as an example.
    pub fn examples(&self, query: &Query) -> &[usize] {
        let tools = self.places.examples.get(&query.words.join(" "));
        tools.map_or(&[], |tools| &tools[..])
    }

    /// The tools whose whole name the sentence opens with, in any order and with nothing else but stop words, before it says
    /// what that is about: "search my mail" of "search my mail for the meeting".
    pub fn opened(&self, query: &Query) -> Vec<usize> {
        let mut opening = Vec::new();
        let mut closed = false;
        for (word, forms) in query.words.iter().zip(&query.forms) {
            closed = !opening.is_empty() && words::leads_on(word);
            if closed {
                break;
            }
            match self.ids.get(&*forms.stem) {
                _ if words::is_stop_word(word) => {}
                Some(id) if opening.contains(id) => {}
                Some(id) => opening.push(*id),
                None => return Vec::new(),
            }
        }
        if !closed || opening.len() < 2 {
            return Vec::new();
        }
        let docs = self.places.term.get(&opening[0]).into_iter().flatten().copied();
        let whole = |doc: &usize| {
            let stems = &self.names[*doc].stems;
            stems.iter().all(|s| opening.contains(s)) && opening.iter().all(|o| stems.contains(o))
        };
        docs.filter(whole).collect()
    }

    fn normal(&self) -> &Normaliser {
        self.lexicon.normal()
    }

    /// The term that a word is.
    fn id(&self, word: &str) -> Option<usize> {
        self.ids.get(&*self.lexicon.forms(word).stem).copied()
    }

    /// The words that the index has met; it meets more when more of it is built.
    pub fn lexicon_mut(&mut self) -> &mut Lexicon {
        &mut self.lexicon
    }

    /// Every tool with how near its name is, 0 to 1; those that share nothing are left out.
    pub fn nearest(&self, name: &str) -> Vec<(usize, f64)> {
        let query = self.parse(name);
        let mut near = Vec::new();
        for (doc, name) in self.names.iter().enumerate() {
            let shared = query.content.iter().filter(|w| name.has(w)).count();
            let alike = strsim::jaro_winkler(&query.joined, &name.joined)
                .max(strsim::jaro_winkler(&query.joined, &name.verb));
            if shared > 0 || alike >= 0.8 {
                let overlap = shared as f64 / query.content.len().max(name.stems.len()).max(1) as f64;
                near.push((doc, 0.5 * alike + 0.5 * overlap));
            }
        }
        near
    }

    /// What a hit rests on, in words.
    pub fn why(&self, query: &Query, hit: &Hit) -> String {
        let words: Vec<String> = query
            .content
            .iter()
            .filter_map(|w| w.term.map(|(id, weight)| (w, id, weight)))
            .filter(|(_, id, _)| {
                let postings = &self.terms[*id].postings;
                postings.binary_search_by_key(&hit.doc, |p| p.0).is_ok()
            })
            .map(|(w, id, weight)| match weight < 1.0 {
                true => format!("{} (heard as {})", self.terms[id].stem, w.text),
                false => w.text.clone(),
            })
            .collect();
        match hit.tier {
            Tier::Exact => "the name itself".to_owned(),
            Tier::Name => format!("part of the name, likeness {:.2}", hit.likeness),
            Tier::Keyword => format!("keywords {}", words.join(", ")),
            Tier::Learned | Tier::Bm25 => format!("words {}", words.join(", ")),
        }
    }

    /// Normalised BM25 of every tool.
    pub fn bm25(&self, query: &Query, domain: Option<&str>) -> Vec<f32> {
        let mut raw = vec![0.0_f32; self.names.len()];
        let mut possible = 0.0;
        for word in &query.content {
            let Some((id, weight)) = word.term else {
                possible += UNKNOWN * self.typical;
                continue;
            };
            let term = &self.terms[id];
            possible += term.peak.max(UNKNOWN * self.typical);
            for &(doc, share) in &term.postings {
                raw[doc] += weight * share;
            }
        }
        for &(doc, share) in query.form.map_or(&[][..], |form| &self.terms[form].postings) {
            if raw[doc] > 0.0 {
                raw[doc] += FORM_WEIGHT * share;
            }
        }
        let hinted = domain.and_then(|d| self.id(&d.to_lowercase()));
        let said = query.content.iter().filter_map(|w| w.term).filter(|t| t.1 == 1.0);
        let domains: Vec<usize> = said.map(|t| t.0).chain(hinted).collect();
        for (raw, name) in raw.iter_mut().zip(&self.names).filter(|(raw, _)| **raw > 0.0) {
            let named = name.domain.is_some_and(|id| domains.contains(&id));
            let boosted = *raw * if named { 1.0 + DOMAIN_BOOST } else { 1.0 };
            // How much of what the query asks is answered, and how much evidence that is.
            let coverage = (boosted / possible).min(1.0);
            let evidence = boosted / (boosted + HALF);
            *raw = LOWEST + (HIGHEST - LOWEST) * (coverage * evidence).sqrt();
        }
        raw
    }

    /// The tier that needs no statistics, for short queries only; `by_letters` is false where the letters rule out that
    /// the query is the name misheard.
    fn deterministic(&self, query: &Query, name: &Name, by_letters: bool) -> Option<(f32, Tier)> {
        if query.joined == name.joined && !query.joined.is_empty() {
            return Some((1.0, Tier::Exact));
        }
        if query.sounds_like(name) {
            return Some((0.93, Tier::Name));
        }
        if query.content.is_empty() || query.content.len() > SHORT {
            return None;
        }
        // Whatever names a tool by its words shares a term with it, unless the name is nothing but stop words.
        let shares = name.stems.is_empty() || name.stems.iter().any(|id| query.terms.contains(id));
        if shares && name.words.len() > 1 && contains(&query.words, &name.words) {
            return Some((0.97, Tier::Name));
        }
        if let Some(known) = query.known.as_ref().filter(|_| shares) {
            if contains(&name.stems, known) {
                return Some((0.97, Tier::Name));
            }
            let in_name = known.iter().filter(|id| name.stems.contains(id)).count();
            if in_name > 0 && known.iter().all(|id| name.keywords.binary_search(id).is_ok()) {
                let share = in_name as f32 / name.stems.len() as f32;
                return Some((0.80 + 0.15 * share.min(1.0), Tier::Keyword));
            }
        }
        let near = [&name.joined, &name.verb]
            .into_iter()
            .filter(|part| by_letters && part.len() >= NAME_LETTERS)
            .map(|part| strsim::jaro_winkler(&query.joined, part))
            .fold(0.0, f64::max);
        (near >= NEAR_NAME && self.no_word_against(query, name)).then_some((0.95 * near as f32, Tier::Name))
    }

    /// Whether every word of the query could be a word of the name: Jaro-Winkler over the whole forgives
    /// `create` for `delete` when the rest agrees.
    fn no_word_against(&self, query: &Query, name: &Name) -> bool {
        query.content.len() != name.words.len()
            || query.content.iter().all(|w| {
                name.words.iter().any(|n| {
                    strsim::jaro_winkler(&w.text, n) >= 0.8
                        || self.lexicon.forms(&w.text).stem == self.lexicon.forms(n).stem
                })
            })
    }

    /// The term that an unknown word was probably meant to be.
    fn resembling(&self, word: &str) -> Option<usize> {
        if word.chars().count() < 4 {
            return None;
        }
        let stem = &*self.lexicon.forms(word).stem;
        let sound = self.normal().sound(stem);
        let alike = self.by_sound.get(&sound).filter(|_| sound.len() >= 2);
        let near = word.chars().next().and_then(|c| self.by_initial.get(&c));
        let mut best: Option<(f64, usize)> = None;
        for (ids, bonus) in [(alike, 0.10), (near, 0.0)] {
            for &id in ids.into_iter().flatten() {
                let likeness = strsim::jaro_winkler(stem, &self.terms[id].stem) + bonus;
                if likeness >= NEAR_WORD && best.is_none_or(|(b, _)| likeness > b) {
                    best = Some((likeness, id));
                }
            }
        }
        best.map(|(_, id)| id)
    }

    /// Weighted word counts of one tool; also takes its name apart.
    fn count(&mut self, doc: &Doc) -> HashMap<usize, f32> {
        let mut counts = HashMap::new();
        let words = words::split(&doc.name);
        let stems = self.add(&mut counts, &words, NAME_WEIGHT);
        let mut keywords = stems.clone();
        keywords.extend(self.add(&mut counts, &words::split(&doc.summary), SUMMARY_WEIGHT));
        for parameter in &doc.parameters {
            keywords.extend(self.add(&mut counts, &words::split(parameter), PARAMETER_WEIGHT));
        }
        for example in &doc.examples {
            let words = words::split(example);
            self.add(&mut counts, &words, EXAMPLE_WEIGHT);
            if let Some(form) = words::form(&words) {
                self.add(&mut counts, &[form.to_owned()], EXAMPLE_WEIGHT);
            }
        }
        keywords.sort_unstable();
        keywords.dedup();
        let domain = words::split(doc.domain());
        let (joined, verb) = (words.concat(), words[domain.len().min(words.len())..].concat());
        self.names.push(Name {
            sounds: words.iter().map(|w| self.lexicon.meet(w).sound.clone()).collect(),
            joined,
            verb,
            domain: domain.first().and_then(|d| self.id(d)),
            words,
            stems,
            keywords,
        });
        counts
    }

    /// Adds words to the counts and to the vocabulary; returns the terms in order, stop words left out.
    fn add(&mut self, counts: &mut HashMap<usize, f32>, words: &[String], weight: f32) -> Vec<usize> {
        let mut ids = Vec::new();
        for word in words.iter().filter(|w| !words::is_stop_word(w)) {
            let stem = &self.lexicon.meet(word).stem;
            let id = match self.ids.get(&**stem) {
                Some(&id) => id,
                None => {
                    let stem = stem.to_string();
                    self.learn(stem)
                }
            };
            *counts.entry(id).or_insert(0.0) += weight;
            ids.push(id);
        }
        ids
    }

    fn learn(&mut self, stem: String) -> usize {
        let id = self.terms.len();
        self.ids.insert(stem.clone(), id);
        self.by_sound
            .entry(self.normal().sound(&stem))
            .or_default()
            .push(id);
        if let Some(initial) = stem.chars().next() {
            self.by_initial.entry(initial).or_default().push(id);
        }
        self.terms.push(Term {
            stem,
            postings: Vec::new(),
            peak: 0.0,
        });
        id
    }

    /// Turns counts into BM25 weights: Robertson's saturation, and the idf that never goes negative (Lucene's).
    fn weigh(&mut self, counts: &[HashMap<usize, f32>]) {
        let lengths: Vec<f32> = counts.iter().map(total).collect();
        let mean = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
        for (doc, count) in counts.iter().enumerate() {
            let norm = K1 * (1.0 - B + B * lengths[doc] / mean);
            for (&id, &n) in count {
                self.terms[id].postings.push((doc, n * (K1 + 1.0) / (n + norm)));
            }
        }
        let n = counts.len() as f32;
        for term in &mut self.terms {
            let df = term.postings.len() as f32;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for posting in &mut term.postings {
                posting.1 *= idf;
                term.peak = term.peak.max(posting.1);
            }
        }
        self.typical = self.terms.iter().map(|t| t.peak).sum::<f32>() / self.terms.len().max(1) as f32;
    }
}

/// Sums in a fixed order, so that the same tools give the same bits: a map's own order changes from run to run.
fn total(counts: &HashMap<usize, f32>) -> f32 {
    let mut ids: Vec<_> = counts.iter().collect();
    ids.sort_unstable_by_key(|(id, _)| **id);
    ids.into_iter().map(|(_, n)| n).sum()
}

/// How often each letter occurs, everything else as the 27th; the rest is room, so that two compare in one step.
struct Letters {
    counts: [u8; 32],
    sum: f32,
}

fn letters(text: &str) -> Letters {
    let mut counts = [0_u8; 32];
    for c in text.chars() {
        let place = if c.is_ascii_lowercase() {
            c as usize - 'a' as usize
        } else {
            26
        };
        counts[place] = counts[place].saturating_add(1);
    }
    let sum: u32 = counts.iter().map(|n| u32::from(*n)).sum();
    Letters {
        counts,
        sum: (sum as f32).max(1.0),
    }
}

/// Whether the letters allow a Jaro-Winkler likeness of [`NEAR_NAME`], which is slow to compute: Jaro must reach 0.88
/// when the prefix helps most, and is at most a third of 1 and the shares of each that the other has, too.
fn could_be_near(a: &Letters, b: &Letters) -> bool {
    // What they have in common is no more than the shorter has.
    let least = a.sum.min(b.sum);
    if least / a.sum + least / b.sum < 1.63 {
        return false;
    }
    let common: u32 = a
        .counts
        .iter()
        .zip(&b.counts)
        .map(|(a, b)| u32::from(*a.min(b)))
        .sum();
    let common = common as f32;
    common / a.sum + common / b.sum >= 1.63
}

/// Whether `part` stands in `whole` as one stretch.
fn contains<T: PartialEq>(whole: &[T], part: &[T]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|w| w == part)
}
