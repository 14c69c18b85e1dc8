//! Phone numbers, mail addresses and names as a recogniser writes what was said: "oh one seven six double four",
//! "anna dot bell at example dot org".

use crate::system::plain;

/// Longest number that is dialled: 15 digits (ITU-T E.164), and a few for an exit code.
const MAX_DIGITS: usize = 20;

/// A phone number to be stored: one that was typed keeps its grouping, one that was said becomes its digits.
///
/// # Errors
/// What to say when it is none.
pub fn phone(said: &str) -> Result<String, String> {
    let said = plain::one_line(said, 100);
    let wrong = || format!("\"{said}\" is no phone number. Say it digit by digit.");
    let typed = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '/' | '(' | ')' | '.' | '+');
    let number = if !said.is_empty() && said.chars().all(typed) {
        said.clone()
    } else {
        dictated(&said).ok_or_else(wrong)?
    };
    let digits = number.chars().filter(char::is_ascii_digit).count();
    let plus = number.rfind('+').is_none_or(|at| at == 0);
    if (3..=MAX_DIGITS).contains(&digits) && plus {
        Ok(number)
    } else {
        Err(wrong())
    }
}

/// Digits said as words, in whatever groups.
fn dictated(said: &str) -> Option<String> {
    let mut number = String::new();
    let mut times = 1;
    // Whether the last word was "twenty", to which "one" would belong.
    let mut tens = false;
    let lower = said.to_lowercase();
    let words = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | ',' | '.' | '/' | '(' | ')'))
        .filter(|word| !word.is_empty());
    for word in words {
        if word.trim_start_matches('+').bytes().all(|b| b.is_ascii_digit()) {
            for _ in 0..times {
                number.push_str(word);
            }
            (times, tens) = (1, false);
            continue;
        }
        if let Some(digit) = digit(word) {
            if std::mem::take(&mut tens) && digit != "0" {
                number.pop();
            }
            for _ in 0..times {
                number.push_str(digit);
            }
            times = 1;
            continue;
        }
        tens = false;
        match word {
            "double" => times = 2,
            "triple" | "treble" => times = 3,
            "plus" if number.is_empty() => number.push('+'),
            "hundred" => number.push_str("00"),
            "thousand" => number.push_str("000"),
            "dash" | "hyphen" | "and" | "slash" => {}
            _ => {
                let (digits, is_tens) = teens(word)?;
                number.push_str(digits);
                tens = is_tens;
            }
        }
    }
    Some(number)
}

fn digit(word: &str) -> Option<&'static str> {
    Some(match word {
        "zero" | "oh" | "o" | "nought" | "null" => "0",
        "one" => "1",
        "two" | "to" | "too" => "2",
        "three" => "3",
        "four" | "for" => "4",
        "five" => "5",
        "six" => "6",
        "seven" => "7",
        "eight" | "ate" => "8",
        "nine" | "niner" => "9",
        _ => return None,
    })
}

/// Two digits said as one word, and whether a digit may follow in place of the zero.
fn teens(word: &str) -> Option<(&'static str, bool)> {
    Some(match word {
        "ten" => ("10", false),
        "eleven" => ("11", false),
        "twelve" => ("12", false),
        "thirteen" => ("13", false),
        "fourteen" => ("14", false),
        "fifteen" => ("15", false),
        "sixteen" => ("16", false),
        "seventeen" => ("17", false),
        "eighteen" => ("18", false),
        "nineteen" => ("19", false),
        "twenty" => ("20", true),
        "thirty" => ("30", true),
        "forty" => ("40", true),
        "fifty" => ("50", true),
        "sixty" => ("60", true),
        "seventy" => ("70", true),
        "eighty" => ("80", true),
        "ninety" => ("90", true),
        _ => return None,
    })
}

/// A mail address; the host in lower case.
///
/// # Errors
/// What to say when it is none.
pub fn mail(said: &str) -> Result<String, String> {
    let said = plain::one_line(said, 260);
    let address = if said.contains('@') && !said.contains(' ') {
        said.clone()
    } else {
        spelled(&said)
    };
    match address.rsplit_once('@') {
        Some((user, host)) if is_user(user) && is_host(host) => Ok(format!("{user}@{}", host.to_lowercase())),
        _ => Err(format!(
            "\"{said}\" is no mail address. Say it as in anna at example dot org."
        )),
    }
}

fn spelled(said: &str) -> String {
    let lower = said.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    // "look at me at example dot org": only the last one is the sign, unless it was written.
    let at = match lower.contains('@') {
        true => None,
        false => words.iter().rposition(|word| *word == "at"),
    };
    let mut address = String::new();
    for (index, word) in words.iter().enumerate() {
        match *word {
            _ if Some(index) == at => address.push('@'),
            "dot" | "point" => address.push('.'),
            "underscore" => address.push('_'),
            "dash" | "hyphen" | "minus" => address.push('-'),
            "plus" => address.push('+'),
            word => match digit(word)
                .filter(|_| !matches!(word, "to" | "too" | "for" | "ate" | "o" | "oh" | "null"))
            {
                Some(digit) => address.push_str(digit),
                None => address.push_str(word),
            },
        }
    }
    address.trim_end_matches('.').to_owned()
}

fn is_user(user: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    (1..=64).contains(&user.len())
        && user.chars().all(plain)
        && !user.starts_with('.')
        && !user.ends_with('.')
        && !user.contains("..")
}

fn is_host(host: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    host.len() <= 253 && host.contains('.') && host.split('.').all(label)
}

/// A name with capitals where a recogniser wrote none.
pub fn name(said: &str) -> String {
    let line = plain::one_line(said, super::MAX_TEXT);
    if line.chars().any(char::is_uppercase) {
        return line;
    }
    let words: Vec<String> = line
        .split(' ')
        .map(|word| match word {
            "van" | "von" | "de" | "der" | "den" | "di" | "da" | "la" | "le" | "bin" | "al" => {
                word.to_owned()
            }
            _ => crate::system::speech::sentence(word),
        })
        .collect();
    words.join(" ")
}

/// Family and given name, as `N` has them; a small word before the last one belongs to the family name.
pub fn parts(name: &str) -> (String, String) {
    let words: Vec<&str> = name.split(' ').collect();
    if words.len() < 2 {
        return (String::new(), name.to_owned());
    }
    let mut cut = words.len() - 1;
    while cut > 1 && words[cut - 1].chars().all(char::is_lowercase) {
        cut -= 1;
    }
    (words[cut..].join(" "), words[..cut].join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(read: fn(&str) -> Result<String, String>, said: &str, expect: Option<&str>) {
        assert_eq!(read(said).ok().as_deref(), expect, "{said:?}");
    }

    #[test]
    fn numbers_as_said_and_as_typed() {
        for (said, expect) in [
            ("oh one seven six two three four five", Some("01762345")),
            ("plus four nine one five one, double five", Some("+4915155")),
            ("0176 double 2 triple seven", Some("017622777")),
            ("five five five forty two ten", Some("5554210")),
            ("five five five forty oh one", Some("5554001")),
            ("eight hundred five five five", Some("800555")),
            ("+49 151 / 555-0101", Some("+49 151 / 555-0101")),
            ("(030) 12 34 56", Some("(030) 12 34 56")),
            ("anna", None),
            ("one two", None),
            ("", None),
            ("49+123", None),
            ("123456789012345678901", None),
        ] {
            check(phone, said, expect);
        }
    }

    #[test]
    fn addresses_as_said_and_as_typed() {
        for (said, expect) in [
            ("anna at example dot org", Some("anna@example.org")),
            ("anna dot bell at g mail dot com", Some("anna.bell@gmail.com")),
            (
                "a n n a underscore two at my dash site dot co dot uk.",
                Some("anna_2@my-site.co.uk"),
            ),
            ("look at me at example dot org", Some("lookatme@example.org")),
            ("Anna@Example.ORG", Some("Anna@example.org")),
            ("anna @ example . org", Some("anna@example.org")),
            ("anna example dot org", None),
            ("anna at example", None),
            ("", None),
            ("a@b@c.de", None),
            ("anna@ex\u{202e}ample.org\nBcc: x", None),
        ] {
            check(mail, said, expect);
        }
    }

    #[test]
    fn names_get_capitals_and_parts() {
        assert_eq!(name("anna bell"), "Anna Bell");
        assert_eq!(name("Anna bell"), "Anna bell");
        for (said, family, given) in [
            ("ludwig van beethoven", "van Beethoven", "Ludwig"),
            ("anna maria bell", "Bell", "Anna Maria"),
            ("eva", "", "Eva"),
        ] {
            assert_eq!(parts(&name(said)), (family.to_owned(), given.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn any_words_are_survived(said in ".{0,120}") {
            if let Ok(number) = phone(&said) {
                prop_assert!(!number.contains(['\n', ';', ':']));
            }
            if let Ok(address) = mail(&said) {
                prop_assert!(!address.contains(|c: char| c.is_whitespace() || c.is_control()));
            }
            parts(&name(&said));
        }
    }
}
