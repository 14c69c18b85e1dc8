//! Sums of money: "€12.50" is twelve euros fifty.

use super::{
    Said, Token,
    numbers::{Number, cardinal},
};

/// A currency: its sign, its code, one and more of it, and of its hundredth.
struct Currency {
    sign: &'static str,
    code: &'static str,
    one: &'static str,
    more: &'static str,
    /// Empty where there is none.
    cent: &'static str,
    cents: &'static str,
}

const CURRENCIES: &[Currency] = &[
    currency(["€", "EUR"], ["euro", "euros"], ["cent", "cents"]),
    currency(["$", "USD"], ["dollar", "dollars"], ["cent", "cents"]),
    currency(["£", "GBP"], ["pound", "pounds"], ["penny", "pence"]),
    currency(["¥", "JPY"], ["yen", "yen"], ["", ""]),
    currency(["₹", "INR"], ["rupee", "rupees"], ["paisa", "paise"]),
    currency(["₩", "KRW"], ["won", "won"], ["", ""]),
    currency(["Fr.", "CHF"], ["franc", "francs"], ["centime", "centimes"]),
    currency(["zł", "PLN"], ["zloty", "zlotys"], ["grosz", "groszy"]),
];

/// Words that multiply a sum.
const LARGE: &[(&str, &str)] = &[
    ("million", "million"),
    ("billion", "billion"),
    ("trillion", "trillion"),
    ("thousand", "thousand"),
    ("bn", "billion"),
    ("mn", "million"),
];

const fn currency(
    [sign, code]: [&'static str; 2],
    [one, more]: [&'static str; 2],
    [cent, cents]: [&'static str; 2],
) -> Currency {
    Currency {
        sign,
        code,
        one,
        more,
        cent,
        cents,
    }
}

/// A sum of money.
pub fn said(tokens: &[Token], at: usize) -> Said {
    let token = tokens[at];
    let next = tokens
        .get(at + 1)
        .filter(|next| token.goes_on() && next.before.is_empty());
    let bare = token.word.strip_prefix('-').unwrap_or(token.word);
    for currency in CURRENCIES {
        let signed = bare
            .strip_prefix(currency.sign)
            .or_else(|| bare.strip_suffix(currency.sign));
        let coded = bare == currency.code || bare == currency.sign;
        let (amount, mut count) = match (signed, next) {
            (Some(amount), _) if !amount.is_empty() => (amount, 1),
            (_, Some(next)) if coded => (next.word, 2),
            (_, Some(next)) if next.word == currency.code || next.word == currency.sign => (bare, 2),
            _ => continue,
        };
        let Some(number) = amount_of(amount) else {
            continue;
        };
        let sign = if token.word.starts_with('-') { "minus " } else { "" };
        let large = tokens
            .get(at + count)
            .filter(|_| tokens[at + count - 1].goes_on());
        let large = large.and_then(|word| LARGE.iter().find(|(written, _)| *written == word.word));
        let said = match large {
            Some((_, large)) => {
                count += 1;
                format!("{} {large} {}", number.words(), currency.more)
            }
            None => currency.words(&number),
        };
        return Some((format!("{sign}{said}"), count));
    }
    None
}

/// "12.50", "1,234", and "12,50" as it is written on the continent.
fn amount_of(text: &str) -> Option<Number> {
    let continental = text
        .split_once(',')
        .filter(|(_, cents)| cents.len() == 2 && !cents.contains(','));
    match continental {
        Some((whole, cents)) => Number::of(&format!("{}.{cents}", whole.replace('.', ""))),
        None => Number::of(text),
    }
}

impl Currency {
    fn words(&self, number: &Number) -> String {
        let cents: Option<u64> = Some(number.part())
            .filter(|part| part.len() == 2)
            .and_then(|part| part.parse().ok());
        let named = |count: u64, one: &str, more: &str| {
            format!("{} {}", cardinal(count), if count == 1 { one } else { more })
        };
        match (number.count(), cents) {
            (Some(0), Some(cents @ 1..)) if !self.cent.is_empty() => named(cents, self.cent, self.cents),
            (Some(whole), Some(0)) => named(whole, self.one, self.more),
            (Some(whole), Some(cents)) if !self.cent.is_empty() => {
                format!(
                    "{} {}",
                    named(whole, self.one, self.more),
                    match cents {
                        1..10 => format!("and {}", named(cents, self.cent, self.cents)),
                        _ => cardinal(cents),
                    }
                )
            }
            _ if number.is_one() => format!("{} {}", number.words(), self.one),
            _ => format!("{} {}", number.words(), self.more),
        }
    }
}
