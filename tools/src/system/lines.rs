//! Content lines of iCalendar and vCard (RFC 5545 3.1, RFC 6350 3.2) as they stand in a file, to be edited in place.
//!
//! A file of other programs holds more than Tiro knows, so an edit must not pass through a model of its meaning: every
//! line that an edit does not mean keeps its bytes, with its folding, its line ending and its place. Written back
//! unchanged, a document is the file that was read, byte for byte. What values mean is `calendar`'s and `contacts`' business.

mod line;
mod read;

pub use line::{Line, escape, split, unescape};

/// How much of a file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The whole file.
    pub bytes: usize,
    /// Lines after unfolding.
    pub lines: usize,
    /// Components within components.
    pub depth: usize,
}

impl Default for Bounds {
    /// A year's calendar in one file passes; what is larger is no item that anybody edits.
    fn default() -> Bounds {
        Bounds {
            bytes: 10 << 20,
            lines: 200_000,
            depth: 16,
        }
    }
}

/// Why a file is not a document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct LineError {
    /// Of the file, from 1.
    pub line: usize,
    /// What is wrong there: "END:VEVENT without its BEGIN".
    pub what: String,
}

/// A file: its components, and the lines between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    nodes: Vec<Node>,
    /// How new lines end: as the first of the file does.
    ending: &'static str,
    /// Whether the file is in an encoding of one byte a letter.
    latin: bool,
}

/// What stands between BEGIN and END, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    begin: Line,
    nodes: Vec<Node>,
    end: Line,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Line(Line),
    Component(Component),
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// A bound that is passed, or a BEGIN or END without the other.
    pub fn parse(bytes: &[u8], bounds: Bounds) -> Result<Document, LineError> {
        read::document(bytes, bounds)
    }

    /// A new file of one component, with the line ending that both standards ask for.
    pub fn of(component: Component) -> Document {
        Document {
            nodes: vec![Node::Component(component)],
            ending: "\r\n",
            latin: false,
        }
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&self.nodes, &mut out);
        out
    }

    /// Its components, outermost only: VCALENDAR, VCARD.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        components(&self.nodes)
    }

    /// The same to be changed.
    pub fn components_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        components_mut(&mut self.nodes)
    }

    /// All components of that name at any depth, in the order of the file.
    pub fn find(&self, name: &str) -> Vec<&Component> {
        let mut found = Vec::new();
        for component in self.components() {
            component.collect(name, &mut found);
        }
        found
    }

    /// Adds a component at the end of the file.
    pub fn push(&mut self, component: Component) {
        self.nodes.push(Node::Component(component));
    }

    /// Keeps those outermost components that `keep` wants; the lines between them stay.
    pub fn retain(&mut self, keep: impl FnMut(&Component) -> bool) {
        retain(&mut self.nodes, keep);
    }

    fn write(&self, nodes: &[Node], out: &mut Vec<u8>) {
        for node in nodes {
            match node {
                Node::Line(line) => line.write(self.ending, self.latin, out),
                Node::Component(component) => {
                    component.begin.write(self.ending, self.latin, out);
                    self.write(&component.nodes, out);
                    component.end.write(self.ending, self.latin, out);
                }
            }
        }
    }
}

impl Component {
    /// An empty one.
    pub fn new(name: &str) -> Component {
        Component {
            begin: Line::new("BEGIN", name),
            nodes: Vec::new(),
            end: Line::new("END", name),
        }
    }

    /// `VEVENT`; compare without regard to case.
    pub fn name(&self) -> &str {
        self.begin.value().trim()
    }

    /// Whether it is called so.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name)
    }

    /// Its own lines, without those of components in it.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Line(line) => Some(line),
            Node::Component(_) => None,
        })
    }

    /// The same to be changed.
    pub fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.nodes.iter_mut().filter_map(|node| match node {
            Node::Line(line) => Some(line),
            Node::Component(_) => None,
        })
    }

    /// The components in it.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        components(&self.nodes)
    }

    /// The same to be changed.
    pub fn components_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        components_mut(&mut self.nodes)
    }

    /// The first line of that name.
    pub fn get(&self, name: &str) -> Option<&Line> {
        self.lines().find(|line| line.is(name))
    }

    /// The value of the first line of that name, as it is written.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(Line::value)
    }

    /// All lines of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines().filter(move |line| line.is(name))
    }

    /// Puts the line where the first of its name stands and takes the others of that name out; adds it when there is none.
    pub fn set(&mut self, line: Line) {
        let place = self
            .nodes
            .iter()
            .position(|node| matches!(node, Node::Line(old) if old.is(line.name())));
        let Some(place) = place else {
            self.add(line);
            return;
        };
        let name = line.name().to_owned();
        self.nodes[place] = Node::Line(line);
        let mut index = 0;
        self.nodes.retain(|node| {
            index += 1;
            index - 1 == place || !matches!(node, Node::Line(old) if old.is(&name))
        });
    }

    /// Changes the value of the first line of that name and leaves its group and parameters; adds a bare line when there
    /// is none. The value is escaped already where it must be, and encoded where the parameters say so (vCard 2.1).
    pub fn set_value(&mut self, name: &str, value: &str) {
        if let Some(line) = self.lines_mut().find(|line| line.is(name)) {
            line.set_value(value);
            return;
        }
        self.add(Line::new(name, value));
    }

    /// Adds a line behind the last one of its name, else behind the last line.
    pub fn add(&mut self, line: Line) {
        let last = |wanted: &dyn Fn(&Line) -> bool| {
            self.nodes
                .iter()
                .rposition(|node| matches!(node, Node::Line(old) if wanted(old)))
        };
        // Blank lines and junk stay where they are: a blank line may be what ends a value of vCard 2.1.
        let place = last(&|old| old.is(line.name()))
            .or_else(|| last(&|old| !old.name().is_empty()))
            .map_or(0, |place| place + 1);
        self.nodes.insert(place, Node::Line(line));
    }

    /// Takes all lines of that name out; says how many.
    pub fn remove(&mut self, name: &str) -> usize {
        let before = self.nodes.len();
        self.retain_lines(|line| !line.is(name));
        before - self.nodes.len()
    }

    /// Keeps the lines that `keep` wants; blank lines, junk and components stay.
    pub fn retain_lines(&mut self, mut keep: impl FnMut(&Line) -> bool) {
        self.nodes.retain(|node| match node {
            Node::Line(line) => line.name().is_empty() || keep(line),
            Node::Component(_) => true,
        });
    }

    /// Adds a component behind those that are there.
    pub fn push(&mut self, component: Component) {
        self.nodes.push(Node::Component(component));
    }

    /// Keeps the components that `keep` wants.
    pub fn retain(&mut self, keep: impl FnMut(&Component) -> bool) {
        retain(&mut self.nodes, keep);
    }

    fn collect<'a>(&'a self, name: &str, found: &mut Vec<&'a Component>) {
        if self.is(name) {
            found.push(self);
        }
        for component in self.components() {
            component.collect(name, found);
        }
    }
}

fn components(nodes: &[Node]) -> impl Iterator<Item = &Component> {
    nodes.iter().filter_map(|node| match node {
        Node::Component(component) => Some(component),
        Node::Line(_) => None,
    })
}

fn components_mut(nodes: &mut [Node]) -> impl Iterator<Item = &mut Component> {
    nodes.iter_mut().filter_map(|node| match node {
        Node::Component(component) => Some(component),
        Node::Line(_) => None,
    })
}

fn retain(nodes: &mut Vec<Node>, mut keep: impl FnMut(&Component) -> bool) {
    nodes.retain(|node| match node {
        Node::Component(component) => keep(component),
        Node::Line(_) => true,
    });
}

#[cfg(test)]
mod tests;
