//! What DAV servers say and are asked in XML. RFC 4918 (WebDAV), RFC 4791 (CalDAV), RFC 6352 (CardDAV), RFC 6578 (sync).

use roxmltree::{Document, Node, ParsingOptions};

/// The namespace of WebDAV.
pub const DAV: &str = "DAV:";
/// The namespace of CalDAV.
pub const CALDAV: &str = "urn:ietf:params:xml:ns:caldav";
/// The namespace of CardDAV.
pub const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";
/// Apple's, for the colour.
const APPLE: &str = "http://apple.com/ns/ical/";

/// More nodes than a listing of as many items as a store may hold has.
const MAX_NODES: u32 = 2_000_000;

/// A multi-status answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Multistatus {
    /// What it says of each resource.
    pub entries: Vec<Entry>,
    /// Where a later listing can go on.
    pub token: Option<String>,
}

/// One resource.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Entry {
    /// Its address as the server writes it.
    pub href: String,
    /// Its own status, when it has one: 404 is gone, 507 is cut off.
    pub status: Option<u16>,
    /// Its version.
    pub etag: Option<String>,
    /// Its content.
    pub data: Option<String>,
    /// What the person calls it.
    pub name: Option<String>,
    /// `#rrggbb`.
    pub color: Option<String>,
    /// Whether it is a folder of any kind.
    pub collection: bool,
    /// Whether it is a calendar.
    pub calendar: bool,
    /// Whether it is an address book.
    pub addressbook: bool,
    /// What a calendar may hold; empty when the server does not say.
    pub components: Vec<String>,
    /// Whether we may write; nothing when the server does not say.
    pub writable: Option<bool>,
    /// Who we are there.
    pub principal: Option<String>,
    /// Where calendars or address books lie.
    pub homes: Vec<String>,
}

/// Reads a multi-status answer.
///
/// # Errors
/// When it is none.
pub fn multistatus(body: &[u8]) -> Result<Multistatus, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the answer is not UTF-8 text".to_owned())?;
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|e| format!("the answer is not XML: {e}"))?;
    let root = document.root_element();
    if !root.has_tag_name((DAV, "multistatus")) {
        return Err("the answer is not a list".to_owned());
    }
    let entries = children(root, DAV, "response").filter_map(entry).collect();
    Ok(Multistatus {
        entries,
        token: text_of(root, DAV, "sync-token"),
    })
}

/// Asks for these properties: names with the prefixes `d`, `c`, `a`, `i`.
pub fn propfind(properties: &[&str]) -> Vec<u8> {
    wrap("d:propfind", &prop(properties))
}

/// Asks what changed since a token; an empty one asks for everything.
pub fn sync(token: &str) -> Vec<u8> {
    let token = format!(
        "<d:sync-token>{}</d:sync-token><d:sync-level>1</d:sync-level>",
        escape(token)
    );
    wrap("d:sync-collection", &format!("{token}{}", prop(&["d:getetag"])))
}

/// Asks for the content of these items.
pub fn multiget<'h>(calendar: bool, hrefs: impl Iterator<Item = &'h str>) -> Vec<u8> {
    let (report, data) = match calendar {
        true => ("c:calendar-multiget", "c:calendar-data"),
        false => ("a:addressbook-multiget", "a:address-data"),
    };
    let hrefs: String = hrefs.map(|h| format!("<d:href>{}</d:href>", escape(h))).collect();
    wrap(report, &format!("{}{hrefs}", prop(&["d:getetag", data])))
}

fn wrap(element: &str, inner: &str) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<{element} xmlns:d=\"{DAV}\" xmlns:c=\"{CALDAV}\" \
         xmlns:a=\"{CARDDAV}\" xmlns:i=\"{APPLE}\">{inner}</{element}>"
    )
    .into_bytes()
}

fn prop(properties: &[&str]) -> String {
    let all: String = properties.iter().map(|p| format!("<{p}/>")).collect();
    format!("<d:prop>{all}</d:prop>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn entry(response: Node<'_, '_>) -> Option<Entry> {
    let mut entry = Entry {
        href: text_of(response, DAV, "href")?,
        status: text_of(response, DAV, "status").and_then(|s| code(&s)),
        ..Entry::default()
    };
    for part in children(response, DAV, "propstat") {
        let status = text_of(part, DAV, "status").and_then(|s| code(&s)).unwrap_or(200);
        if let (200..=299, Some(prop)) = (status, children(part, DAV, "prop").next()) {
            prop.children()
                .filter(Node::is_element)
                .for_each(|p| property(&mut entry, p));
        }
    }
    Some(entry)
}

fn property(entry: &mut Entry, node: Node<'_, '_>) {
    let tag = node.tag_name();
    let text = || {
        Some(inner(node))
            .map(|t| t.trim().to_owned())
            .filter(|t| !t.is_empty())
    };
    let hrefs = || children(node, DAV, "href").map(|n| inner(n).trim().to_owned());
    match (tag.namespace().unwrap_or_default(), tag.name()) {
        (DAV, "getetag") => entry.etag = text(),
        (DAV, "displayname") => entry.name = text(),
        (APPLE, "calendar-color") => entry.color = text(),
        (CALDAV, "calendar-data") | (CARDDAV, "address-data") => entry.data = Some(inner(node)),
        (DAV, "resourcetype") => {
            entry.collection = children(node, DAV, "collection").next().is_some();
            entry.calendar = children(node, CALDAV, "calendar").next().is_some();
            entry.addressbook = children(node, CARDDAV, "addressbook").next().is_some();
        }
        (CALDAV, "supported-calendar-component-set") => {
            let names = children(node, CALDAV, "comp").filter_map(|n| n.attribute("name"));
            entry.components = names.map(str::to_ascii_uppercase).collect();
        }
        (DAV, "current-user-privilege-set") => {
            // RFC 3744, section 3: "all" and "write" hold the finer ones.
            const WRITES: [&str; 4] = ["all", "write", "write-content", "bind"];
            let writes = |n: Node<'_, '_>| WRITES.iter().any(|w| n.has_tag_name((DAV, *w)));
            entry.writable = Some(node.descendants().any(writes));
        }
        (DAV, "current-user-principal") => entry.principal = hrefs().next(),
        (CALDAV, "calendar-home-set") | (CARDDAV, "addressbook-home-set") => entry.homes.extend(hrefs()),
        _ => {}
    }
}

fn children<'a, 'd>(
    node: Node<'a, 'd>,
    space: &'static str,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |n| n.has_tag_name((space, name)))
}

fn text_of(node: Node<'_, '_>, space: &'static str, name: &'static str) -> Option<String> {
    let text = inner(children(node, space, name).next()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The text right inside an element, CDATA and all.
fn inner(node: Node<'_, '_>) -> String {
    node.children()
        .filter_map(|n| if n.is_text() { n.text() } else { None })
        .collect()
}

/// `HTTP/1.1 200 OK`.
fn code(status: &str) -> Option<u16> {
    status.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read() {
        let body = br#"<?xml version="1.0"?><D:multistatus xmlns:D="DAV:" xmlns:X="urn:ietf:params:xml:ns:caldav">
            <D:response><D:href> /c/a.ics </D:href><D:propstat><D:prop><D:getetag>"1"</D:getetag>
            <X:calendar-data><![CDATA[BEGIN:A]]>&amp;x&#13;
</X:calendar-data></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
            <D:propstat><D:prop><D:displayname>no</D:displayname></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
            <D:response><D:href>/c/b.ics</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>
            <D:sync-token>t2</D:sync-token></D:multistatus>"#;
        let list = multistatus(body).unwrap();
        assert_eq!(list.token.as_deref(), Some("t2"));
        let [a, b] = &list.entries[..] else {
            panic!("{list:?}")
        };
        assert_eq!(
            (a.href.as_str(), a.etag.as_deref(), a.name.as_deref()),
            ("/c/a.ics", Some("\"1\""), None)
        );
        assert_eq!(a.data.as_deref(), Some("BEGIN:A&x\r\n"));
        assert_eq!((b.href.as_str(), b.status), ("/c/b.ics", Some(404)));
    }

    #[test]
    fn collections_say_what_they_are() {
        let body = br#"<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:R="urn:ietf:params:xml:ns:carddav">
            <response><href>/c/</href><propstat><prop><resourcetype><collection/><C:calendar/></resourcetype>
            <C:supported-calendar-component-set><C:comp name="VTODO"/></C:supported-calendar-component-set>
            <current-user-privilege-set><privilege><read/></privilege></current-user-privilege-set>
            <calendar-color xmlns="http://apple.com/ns/ical/">#ff0000ff</calendar-color>
            <C:calendar-home-set><href>/h/</href></C:calendar-home-set>
            <current-user-principal><href>/p/</href></current-user-principal></prop></propstat></response></multistatus>"#;
        let list = multistatus(body).unwrap();
        let c = &list.entries[0];
        assert!(c.collection && c.calendar && !c.addressbook);
        assert_eq!(
            (c.components[0].as_str(), c.writable, c.color.as_deref()),
            ("VTODO", Some(false), Some("#ff0000ff"))
        );
        assert_eq!(
            (c.homes[0].as_str(), c.principal.as_deref()),
            ("/h/", Some("/p/"))
        );
    }

    #[test]
    fn hostile_answers_are_refused_quickly() {
        #[track_caller]
        fn check(body: &str, expect: &str) {
            let error = multistatus(body.as_bytes()).unwrap_err();
            assert!(error.contains(expect), "{error}");
        }
        let bomb = r#"<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><multistatus xmlns="DAV:">&b;</multistatus>"#;
        check(bomb, "DTD");
        check("<html/>", "not a list");
        check("", "not XML");
        check("<multistatus xmlns='DAV:'>", "not XML");
        check(&"<a>".repeat(200_000), "not XML");
        assert!(multistatus(&[0xff]).unwrap_err().contains("UTF-8"));
        let deep = format!(
            "<multistatus xmlns='DAV:'>{}{}</multistatus>",
            "<a>".repeat(100_000),
            "</a>".repeat(100_000)
        );
        assert_eq!(multistatus(deep.as_bytes()).unwrap().entries.len(), 0);
    }

    #[test]
    fn questions_are_xml_whatever_is_in_them() {
        for body in [
            propfind(&["d:getetag", "i:calendar-color"]),
            sync("a<&>b"),
            multiget(true, ["/a&b<.ics"].into_iter()),
            multiget(false, ["/x"].into_iter()),
        ] {
            let text = String::from_utf8(body).unwrap();
            Document::parse(&text).unwrap();
        }
    }
}
