//! A recogniser for the part of GBNF that the grammars use, so that tests can ask what a grammar lets through
//! without a native library. Written from the notation's description in llama.cpp's grammars/README.md.

use std::collections::{BTreeSet, HashMap};

/// A grammar, parsed.
pub struct Gbnf {
    rules: HashMap<String, Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Literal(Vec<char>),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Rule(String),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        most: usize,
    },
}

impl Gbnf {
    /// Parses one rule a line; panics on what is not GBNF, and on a rule that is missing.
    pub fn parse(text: &str) -> Gbnf {
        let mut rules = HashMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (name, body) = line
                .split_once(" ::= ")
                .unwrap_or_else(|| panic!("no rule: {line}"));
            assert!(
                name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
                "bad rule name {name}"
            );
            let mut parser = Parser {
                chars: body.chars().collect(),
                at: 0,
            };
            let node = parser.choice();
            assert_eq!(parser.at, parser.chars.len(), "trailing text in {line}");
            assert!(rules.insert(name.to_owned(), node).is_none(), "two rules {name}");
        }
        for node in rules.values() {
            check_references(node, &rules);
        }
        Gbnf { rules }
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether `root` matches the whole text.
    pub fn accepts(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let mut matcher = Matcher {
            grammar: self,
            chars: &chars,
            known: HashMap::new(),
        };
        matcher.rule("root", 0).contains(&chars.len())
    }
}

struct Matcher<'a> {
    grammar: &'a Gbnf,
    chars: &'a [char],
    known: HashMap<(&'a str, usize), BTreeSet<usize>>,
}

impl<'a> Matcher<'a> {
    /// Every position at which a match that starts at `at` can end.
    fn ends(&mut self, node: &'a Node, at: usize) -> BTreeSet<usize> {
        match node {
            Node::Literal(literal) => match self.chars[at..].starts_with(literal) {
                true => BTreeSet::from([at + literal.len()]),
                false => BTreeSet::new(),
            },
            Node::Class { negated, ranges } => match self.chars.get(at) {
                Some(c) if ranges.iter().any(|(low, high)| low <= c && c <= high) != *negated => {
                    BTreeSet::from([at + 1])
                }
                _ => BTreeSet::new(),
            },
            Node::Rule(name) => self.rule(name, at),
            Node::Choice(nodes) => nodes.iter().flat_map(|node| self.ends(node, at)).collect(),
            Node::Sequence(nodes) => nodes.iter().fold(BTreeSet::from([at]), |starts, node| {
                starts
                    .into_iter()
                    .flat_map(|start| self.ends(node, start))
                    .collect()
            }),
            Node::Repeat { node, least, most } => {
                let mut all = BTreeSet::new();
                let mut last = BTreeSet::from([at]);
                for times in 0..=*most {
                    if times >= *least {
                        let before = all.len();
                        all.extend(&last);
                        if all.len() == before {
                            break;
                        }
                    }
                    last = last
                        .into_iter()
                        .flat_map(|start| self.ends(node, start))
                        .collect();
                }
                all
            }
        }
    }

    fn rule(&mut self, name: &'a str, at: usize) -> BTreeSet<usize> {
        if let Some(ends) = self.known.get(&(name, at)) {
            return ends.clone();
        }
        let grammar = self.grammar;
        let ends = self.ends(&grammar.rules[name], at);
        self.known.insert((name, at), ends.clone());
        ends
    }
}

fn check_references(node: &Node, rules: &HashMap<String, Node>) {
    match node {
        Node::Rule(name) => assert!(rules.contains_key(name), "no rule {name}"),
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().for_each(|n| check_references(n, rules)),
        Node::Repeat { node, .. } => check_references(node, rules),
        Node::Literal(_) | Node::Class { .. } => {}
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    fn choice(&mut self) -> Node {
        let mut options = vec![self.sequence()];
        while self.peek() == Some('|') {
            self.at += 1;
            options.push(self.sequence());
        }
        Node::Choice(options)
    }

    fn sequence(&mut self) -> Node {
        let mut nodes = Vec::new();
        loop {
            while self.peek() == Some(' ') {
                self.at += 1;
            }
            let node = match self.peek() {
                None | Some('|' | ')') => return Node::Sequence(nodes),
                Some('"') => self.literal(),
                Some('[') => self.class(),
                Some('(') => {
                    self.at += 1;
                    let inner = self.choice();
                    assert_eq!(self.next(), ')');
                    inner
                }
                Some(_) => self.name(),
            };
            nodes.push(self.repeated(node));
        }
    }

    fn repeated(&mut self, node: Node) -> Node {
        let (least, most) = match self.peek() {
            Some('?') => (0, 1),
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('{') => {
                let inside: String = self.chars[self.at + 1..]
                    .iter()
                    .take_while(|c| **c != '}')
                    .collect();
                self.at += inside.len() + 1;
                match inside.split_once(',') {
                    Some((least, "")) => (least.parse().unwrap(), usize::MAX),
                    Some((least, most)) => (least.parse().unwrap(), most.parse().unwrap()),
                    None => (inside.parse().unwrap(), inside.parse().unwrap()),
                }
            }
            _ => return node,
        };
        self.at += 1;
        Node::Repeat {
            node: Box::new(node),
            least,
            most,
        }
    }

    fn literal(&mut self) -> Node {
        self.at += 1;
        let mut chars = Vec::new();
        while self.peek() != Some('"') {
            chars.push(self.character());
        }
        self.at += 1;
        Node::Literal(chars)
    }

    fn class(&mut self) -> Node {
        self.at += 1;
        let negated = self.peek() == Some('^');
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let low = self.character();
            let ranged = self.peek() == Some('-') && self.chars.get(self.at + 1) != Some(&']');
            self.at += usize::from(ranged);
            ranges.push((low, if ranged { self.character() } else { low }));
        }
        self.at += 1;
        Node::Class { negated, ranges }
    }

    fn name(&mut self) -> Node {
        let rest = &self.chars[self.at..];
        let name: String = rest
            .iter()
            .take_while(|c| c.is_ascii_alphanumeric() || **c == '-')
            .collect();
        assert!(!name.is_empty(), "no element at {rest:?}");
        self.at += name.len();
        Node::Rule(name)
    }

    fn character(&mut self) -> char {
        match self.next() {
            '\\' => match self.next() {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'x' => {
                    let digits: String = [self.next(), self.next()].iter().collect();
                    char::from(u8::from_str_radix(&digits, 16).unwrap())
                }
                c @ ('"' | '\\' | '[' | ']') => c,
                c => panic!("unknown escape {c}"),
            },
            c => c,
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> char {
        self.at += 1;
        self.chars[self.at - 1]
    }
}
