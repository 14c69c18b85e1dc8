//! How others find tools, written down from the descriptions of their algorithms and only to be measured beside ours.
//! Each sees what it would see at home: name and summary, Hermes the names of the parameters, too.

use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};
use tools::discover::Doc;

/// Ranks documents for a query; at most `k`, best first.
pub trait Ranker {
    /// As it stands in the table.
    fn name(&self) -> &'static str;
    fn rank(&self, query: &str, k: usize) -> Vec<usize>;
}

/// All of them over these tools.
pub fn all(docs: &[Doc]) -> Vec<Box<dyn Ranker>> {
    vec![
        Box::new(Crate::new("bm25 crate, our words", docs, true)),
        Box::new(Crate::new("bm25 crate", docs, false)),
        Box::new(Article::new(docs)),
        Box::new(Mastra::new(docs)),
        Box::new(Hermes::new(docs)),
        Box::new(TanStack(docs.iter().map(|d| d.name.clone()).collect())),
    ]
}

/// The `bm25` crate with its English tokenizer, which stems and leaves stop words out.
struct Crate {
    name: &'static str,
    engine: bm25::SearchEngine<u32>,
}

impl Crate {
    fn new(name: &'static str, docs: &[Doc], everything: bool) -> Crate {
        let text = |d: &Doc| {
            let mut text = format!("{} {}", d.name.replace(['.', '_'], " "), d.summary);
            if everything {
                text = format!("{text} {} {}", d.parameters.join(" "), d.examples.join(" "));
            }
            text
        };
        let texts = docs.iter().map(text).collect::<Vec<_>>();
        let engine = bm25::SearchEngineBuilder::<u32>::with_corpus(bm25::Language::English, texts).build();
        Crate { name, engine }
    }
}

impl Ranker for Crate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn rank(&self, query: &str, k: usize) -> Vec<usize> {
        self.engine
            .search(query, k)
            .into_iter()
            .map(|r| r.document.id as usize)
            .collect()
    }
}

/// BM25 with k1 = 1.5, b = 0.75 and the idf that is never negative, over tokens that others made.
struct Bm25 {
    counts: Vec<HashMap<String, f32>>,
    lengths: Vec<f32>,
    mean: f32,
    idf: HashMap<String, f32>,
}

impl Bm25 {
    fn new(texts: Vec<Vec<String>>) -> Bm25 {
        let lengths: Vec<f32> = texts.iter().map(|t| t.len() as f32).collect();
        let mut df: HashMap<String, f32> = HashMap::new();
        let mut counts = Vec::new();
        for text in texts {
            let mut count: HashMap<String, f32> = HashMap::new();
            for token in text {
                *count.entry(token).or_default() += 1.0;
            }
            count
                .keys()
                .for_each(|t| *df.entry(t.clone()).or_default() += 1.0);
            counts.push(count);
        }
        let n = counts.len() as f32;
        Bm25 {
            mean: lengths.iter().sum::<f32>() / n.max(1.0),
            idf: df
                .into_iter()
                .map(|(t, df)| (t, ((n - df + 0.5) / (df + 0.5) + 1.0).ln()))
                .collect(),
            counts,
            lengths,
        }
    }

    fn score(&self, doc: usize, query: &[String]) -> f32 {
        let norm = 1.5 * (0.25 + 0.75 * self.lengths[doc] / self.mean.max(1.0));
        let token = |t: &String| {
            let n = self.counts[doc].get(t).copied().unwrap_or(0.0);
            self.idf.get(t).copied().unwrap_or(0.0) * n * 2.5 / (n + norm)
        };
        query.iter().map(token).sum()
    }
}

fn best(mut scored: Vec<(usize, f32)>, k: usize) -> Vec<usize> {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().take(k).map(|s| s.0).collect()
}

/// Mastra's ToolSearchProcessor: BM25 over "name description" without stop words or stems, twice as many as asked for,
/// 5 more for a token that is the name and 2 for one that is part of it.
struct Mastra {
    names: Vec<String>,
    bm25: Bm25,
}

impl Mastra {
    fn new(docs: &[Doc]) -> Mastra {
        Mastra {
            names: docs.iter().map(|d| d.name.to_lowercase()).collect(),
            bm25: Bm25::new(
                docs.iter()
                    .map(|d| Mastra::tokens(&format!("{} {}", d.name, d.summary)))
                    .collect(),
            ),
        }
    }

    fn tokens(text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        let parts = lower.split(|c: char| c.is_whitespace() || "-_.,;:!?()[]{}'\"".contains(c));
        parts
            .filter(|t| t.chars().count() >= 2)
            .map(str::to_owned)
            .collect()
    }
}

impl Ranker for Mastra {
    fn name(&self) -> &'static str {
        "Mastra"
    }

    fn rank(&self, query: &str, k: usize) -> Vec<usize> {
        let tokens = Mastra::tokens(query);
        let all = (0..self.names.len())
            .map(|d| (d, self.bm25.score(d, &tokens)))
            .filter(|s| s.1 > 0.0);
        let boosted = best(all.collect(), 2 * k).into_iter().map(|d| {
            let name = &self.names[d];
            let boost = tokens.iter().map(|t| match t {
                t if t == name => 5.0,
                t if name.contains(t.as_str()) => 2.0,
                _ => 0.0,
            });
            (d, self.bm25.score(d, &tokens) + boost.sum::<f32>())
        });
        best(boosted.collect(), k)
    }
}

/// Hermes Agent's tool search: stems; the rarest token of the query must be in the document, and one that no document
/// has is the rarest; from four answerable tokens on half of them must be in it.
struct Hermes {
    names: Vec<String>,
    stemmer: Stemmer,
    bm25: Bm25,
}

impl Hermes {
    fn new(docs: &[Doc]) -> Hermes {
        let stemmer = Stemmer::create(Algorithm::English);
        let text = |d: &Doc| format!("{} {} {}", d.name, d.summary, d.parameters.join(" "));
        let texts = docs.iter().map(|d| Hermes::tokens(&stemmer, &text(d))).collect();
        Hermes {
            names: docs.iter().map(|d| d.name.to_lowercase()).collect(),
            bm25: Bm25::new(texts),
            stemmer,
        }
    }

    fn tokens(stemmer: &Stemmer, text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        let parts = lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|t| !t.is_empty());
        parts.map(|t| stemmer.stem(t).into_owned()).collect()
    }
}

impl Ranker for Hermes {
    fn name(&self) -> &'static str {
        "Hermes"
    }

    fn rank(&self, query: &str, k: usize) -> Vec<usize> {
        let whole = query.trim().to_lowercase();
        let mut tokens = Hermes::tokens(&self.stemmer, query);
        tokens.sort();
        tokens.dedup();
        let idf = |t: &String| self.bm25.idf.get(t).copied().unwrap_or(f32::INFINITY);
        let Some(rarest) = tokens.iter().max_by(|a, b| idf(a).total_cmp(&idf(b))) else {
            return Vec::new();
        };
        let answerable: Vec<&String> = tokens.iter().filter(|t| self.bm25.idf.contains_key(*t)).collect();
        let scored = (0..self.names.len()).filter_map(|d| {
            if self.names[d] == whole {
                return Some((d, f32::INFINITY));
            }
            let has = |t: &String| self.bm25.counts[d].contains_key(t);
            let matched = answerable.iter().filter(|t| has(t)).count();
            let enough = answerable.len() < 4 || 2 * matched >= answerable.len();
            (has(rarest) && enough).then(|| (d, self.bm25.score(d, &tokens)))
        });
        best(scored.collect(), k)
    }
}

/// TanStack AI: the exact name or nothing.
struct TanStack(Vec<String>);

impl Ranker for TanStack {
    fn name(&self) -> &'static str {
        "TanStack"
    }

    fn rank(&self, query: &str, _k: usize) -> Vec<usize> {
        self.0.iter().position(|n| n == query).into_iter().collect()
    }
}

/// The source article's formula as we read it, without our additions: exact name 1, part of a name 0.97, words of the
/// name or the domain from 0.80 up whatever the length of the query, else BM25 with boosts for a name that resembles
/// the query (0.35) and for the domain (0.10), under 0.80; neither stop words nor stems.
struct Article {
    docs: Vec<Doc>,
    words: Vec<HashSet<String>>,
    bm25: Bm25,
}

impl Article {
    fn new(docs: &[Doc]) -> Article {
        let text = |d: &Doc| Article::tokens(&format!("{} {}", d.name, d.summary));
        Article {
            words: docs
                .iter()
                .map(|d| Article::tokens(&d.name).into_iter().collect())
                .collect(),
            bm25: Bm25::new(docs.iter().map(text).collect()),
            docs: docs.to_vec(),
        }
    }

    fn tokens(text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

impl Ranker for Article {
    fn name(&self) -> &'static str {
        "source article"
    }

    fn rank(&self, query: &str, k: usize) -> Vec<usize> {
        let lower = query.trim().to_lowercase();
        let tokens = Article::tokens(query);
        let scored = self.docs.iter().enumerate().filter_map(|(d, doc)| {
            if doc.name == lower {
                return Some((d, 1.0));
            }
            if !lower.is_empty() && (doc.name.contains(&lower) || lower.contains(&doc.name)) {
                return Some((d, 0.97));
            }
            let shared = tokens.iter().filter(|t| self.words[d].contains(*t)).count();
            if shared > 0 {
                return Some((d, 0.80 + 0.15 * shared as f32 / self.words[d].len() as f32));
            }
            let raw = self.bm25.score(d, &tokens);
            let domain = if tokens.iter().any(|t| t == doc.domain()) {
                0.10
            } else {
                0.0
            };
            let like = strsim::jaro_winkler(&lower, &doc.name) as f32;
            let boosted = raw * (1.0 + 0.35 * like + domain);
            (raw > 0.0).then(|| (d, 0.05 + 0.74 * boosted / (boosted + 5.0)))
        });
        best(scored.collect(), k)
    }
}
