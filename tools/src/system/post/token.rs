//! Showing a server an access token of OAuth 2.0: by the standard's name (OAUTHBEARER, RFC 7628), or by the one that the
//! large providers had before there was a standard (XOAUTH2). Which of them a server takes is in what it offers.

/// How a token is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Google's and Microsoft's own.
    Xoauth2,
    /// The standard's.
    Bearer,
}

impl Mechanism {
    /// The one to use where these are offered. Where both are it is the older one, which every provider that has it has
    /// had for longest.
    pub fn of<'o>(offered: impl IntoIterator<Item = &'o str>) -> Option<Mechanism> {
        let mut best = None;
        for name in offered {
            if name.eq_ignore_ascii_case(Mechanism::Xoauth2.name()) {
                return Some(Mechanism::Xoauth2);
            }
            if name.eq_ignore_ascii_case(Mechanism::Bearer.name()) {
                best = Some(Mechanism::Bearer);
            }
        }
        best
    }

    /// Its name in both protocols.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Xoauth2 => "XOAUTH2",
            Mechanism::Bearer => "OAUTHBEARER",
        }
    }

    /// What is said, before base64.
    pub fn words(self, user: &str, token: &str) -> String {
        match self {
            Mechanism::Xoauth2 => format!("user={user}\x01auth=Bearer {token}\x01\x01"),
            // The name stands in a header of its own, in which a comma and an equals sign mean something (RFC 5801).
            Mechanism::Bearer => {
                let user = user.replace('=', "=3D").replace(',', "=2C");
                format!("n,a={user},\x01auth=Bearer {token}\x01\x01")
            }
        }
    }

    /// What a server is answered that has explained why it refuses: it waits for that before it does.
    pub fn after_refusal(self) -> &'static str {
        match self {
            Mechanism::Xoauth2 => "",
            Mechanism::Bearer => "\x01",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_one_that_the_server_takes() {
        for (offered, expect) in [
            (&["PLAIN", "OAUTHBEARER", "xoauth2"][..], Some(Mechanism::Xoauth2)),
            (&["OAuthBearer", "LOGIN"], Some(Mechanism::Bearer)),
            (&["PLAIN", "XOAUTH", "OAUTHBEARERX"], None),
            (&[], None),
        ] {
            assert_eq!(Mechanism::of(offered.iter().copied()), expect, "{offered:?}");
        }
    }

    #[test]
    fn no_name_breaks_out_of_its_place() {
        assert_eq!(
            Mechanism::Bearer.words("ada,x=y@example.org", "t0k.en"),
            "n,a=ada=2Cx=3Dy@example.org,\x01auth=Bearer t0k.en\x01\x01"
        );
        assert_eq!(
            Mechanism::Xoauth2.words("ada@example.org", "t0k.en"),
            "user=ada@example.org\x01auth=Bearer t0k.en\x01\x01"
        );
    }
}
