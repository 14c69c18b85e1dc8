//! `calc.convert_units`: lengths, weights, volumes, temperatures and the like.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        plain, speech, sums,
        units::{self, Unit},
    },
};

/// Converts between units.
pub struct This;

/// How much of what, in what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// How much: "10", "two and a half"; 1 if left out
    amount: Option<String>,
    /// The unit it is in: "kilometres"
    from: String,
    /// The unit wanted: "miles"
    to: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calc.convert_units";
    const SUMMARY: &'static str = "Convert between units: length, weight, volume, temperature, speed, area";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "how many miles is ten kilometres",
        "what's 70 fahrenheit in celsius",
        "convert three cups to millilitres",
        "how many feet are in a mile",
        "how much is 12 stone in kilos",
        "60 miles per hour in kilometres per hour",
        "how many ounces in a pound",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "what's 70 fahrenheit in celsius",
            r#"{"amount": "70", "from": "fahrenheit", "to": "celsius"}"#,
        ),
        ("how many feet are in a mile", r#"{"from": "mile", "to": "feet"}"#),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "convert {amount:amount} {from:unit} (to|into) {to:unit}",
        "what is {amount:amount} {from:unit} in {to:unit}",
        "how many {to:unit} (is|are) {amount:amount} {from:unit}",
        "how many {to:unit} are [there] in {amount:amount} {from:unit}",
        "how many {to:unit} (are|are there) in (a|an) {from:unit} -> amount=1",
        "how many {to:unit} in (a|an) {from:unit} -> amount=1",
    ];
    const LIMITS: &'static str = "No money: exchange rates need the network.";

    async fn run(args: Args, _ctx: &Ctx) -> Result<Output, ToolError> {
        let amount = match args.amount.as_deref().map(str::trim) {
            None | Some("" | "a" | "an") => "1".to_owned(),
            Some(said) => sums::expression(said)
                .map_err(|why| ToolError::tell(format!("I cannot convert that amount: {why}.")))?,
        };
        let pairs = pairs(&args)?;
        let work = move || -> Result<Vec<(Unit, Unit, sums::Answer)>, String> {
            let mut done = Vec::new();
            for (from, to) in pairs {
                done.push((from, to, units::convert(&amount, from, to)?));
            }
            Ok(done)
        };
        let done = sums::in_time(work)
            .await?
            .map_err(|why| ToolError::tell(format!("I cannot convert that: {why}.")))?;
        let said = args
            .amount
            .as_deref()
            .map_or("1".to_owned(), |a| plain::one_line(a, 40));
        let sentence = |from: &Unit, to: &Unit, answer: &sums::Answer| {
            let verb = if is_one(&said) { "is" } else { "are" };
            let unit = if is_one(&said) { from.one } else { from.many };
            format!(
                "{} {unit} {verb} {}",
                speech::sentence(&said),
                measure(answer, to)
            )
        };
        let Some(((from, to, answer), others)) = done.split_first() else {
            return Err(ToolError::broken("convert units", "no pair of units is left"));
        };
        let mut say = format!("{}.", sentence(from, to, answer));
        if let Some((from, to, answer)) = others.first() {
            say = format!("{say} {}.", sentence(from, to, answer));
        }
        let mut data = shape(from, to, answer);
        data["alternatives"] = others
            .iter()
            .map(|(from, to, answer)| shape(from, to, answer))
            .collect();
        Ok(Output::new(say, data))
    }
}

/// Every pair that measures the same, the usual one first: "pints" are of two kinds, "ounces" a weight or a volume.
fn pairs(args: &Args) -> Result<Vec<(Unit, Unit)>, ToolError> {
    let money = [&args.from, &args.to]
        .into_iter()
        .any(|side| units::is_money(side));
    if money {
        return Err(ToolError::tell(
            "I cannot convert money: exchange rates change, and I do not use the network.",
        ));
    }
    let known = |said: &str| {
        let found = units::find(said);
        if found.is_empty() {
            let name = plain::one_line(said, 40);
            return Err(ToolError::tell(format!("I do not know the unit \"{name}\".")));
        }
        Ok(found)
    };
    let (from, to) = (known(&args.from)?, known(&args.to)?);
    // The other kind of the same name must not meet itself: US pints are not asked for in imperial ones.
    let mut pairs: Vec<(Unit, Unit)> = Vec::new();
    for a in &from {
        let fits = to
            .iter()
            .find(|b| b.measures == a.measures && customary(a) == customary(b));
        let fits = fits.or_else(|| to.iter().find(|b| b.measures == a.measures));
        if let Some(b) = fits {
            pairs.push((*a, *b));
        }
    }
    if let ([a], [_, _, ..]) = (from.as_slice(), to.as_slice()) {
        pairs = to
            .iter()
            .filter(|b| b.measures == a.measures)
            .map(|b| (*a, *b))
            .collect();
    }
    pairs.truncate(3);
    if let (true, Some(a), Some(b)) = (pairs.is_empty(), from.first(), to.first()) {
        return Err(ToolError::tell(format!(
            "{} measure {} and {} measure {}, so one cannot be told in the other.",
            speech::sentence(a.many),
            a.measures,
            b.many,
            b.measures
        )));
    }
    Ok(pairs)
}

/// Which of the two customary systems a unit is of, if of one.
fn customary(unit: &Unit) -> Option<bool> {
    match unit.many.split(' ').next() {
        Some("US") => Some(true),
        Some("imperial") => Some(false),
        _ => None,
    }
}

fn is_one(said: &str) -> bool {
    matches!(said.to_lowercase().as_str(), "1" | "one" | "a" | "an" | "")
}

/// "about 6.21 miles": as precise as is worth hearing.
fn measure(answer: &sums::Answer, unit: &Unit) -> String {
    let value: f64 = answer.digits.parse().unwrap_or(f64::NAN);
    let decimals = match value.abs() {
        large if large >= 1000.0 => 1,
        middle if middle >= 1.0 => 2,
        // Three digits that count.
        small if small > 1e-12 => (2 - small.log10().floor() as i32).clamp(0, 15) as usize,
        _ => 0,
    };
    let digits = answer
        .digits
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let cut = digits > decimals;
    let shown = if cut {
        let fixed = format!("{value:.decimals$}");
        match fixed.contains('.') {
            true => fixed.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => fixed,
        }
    } else {
        answer.digits.clone()
    };
    let about = if cut || !answer.exact { "about " } else { "" };
    let name = if shown == "1" { unit.one } else { unit.many };
    let spoken = sums::spoken(&sums::Answer {
        digits: shown,
        exact: true,
    });
    format!("{about}{spoken} {name}")
}

fn shape(from: &Unit, to: &Unit, answer: &sums::Answer) -> Value {
    json!({"from": from.many, "to": to.many, "value": answer.digits, "exact": answer.exact})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    async fn convert(amount: Option<&str>, from: &str, to: &str) -> Result<Output, ToolError> {
        let home = tempfile::tempdir().unwrap();
        let mut args = json!({"from": from, "to": to});
        if let Some(amount) = amount {
            args["amount"] = amount.into();
        }
        run("calc.convert_units", args, &ctx(home.path())).await
    }

    #[tokio::test]
    async fn units_are_converted() {
        for (amount, from, to, expect) in [
            (
                "ten",
                "kilometres",
                "miles",
                "Ten kilometres are about 6.21 miles.",
            ),
            (
                "70",
                "fahrenheit",
                "celsius",
                "70 degrees Fahrenheit are about 21.11 degrees Celsius.",
            ),
            (
                "minus 40",
                "celsius",
                "fahrenheit",
                "Minus 40 degrees Celsius are -40 degrees Fahrenheit.",
            ),
            ("0", "kelvin", "celsius", "0 kelvins are -273.15 degrees Celsius."),
            ("1", "mile", "feet", "1 mile is 5,280 feet."),
            (
                "one and a half",
                "pounds",
                "ounces",
                "One and a half pounds are 24 ounces.",
            ),
            ("12", "stone", "kilos", "12 stone are about 76.2 kilograms."),
            (
                "60",
                "mph",
                "km/h",
                "60 miles per hour are about 96.56 kilometres per hour.",
            ),
            (
                "2",
                "hectares",
                "square metres",
                "2 hectares are 20,000 square metres.",
            ),
            ("90", "minutes", "hours", "90 minutes are 1.5 hours."),
            ("5", "grams", "tonnes", "5 grams are 0.000005 tonnes."),
            ("2", "gigabytes", "megabytes", "2 gigabytes are 2,000 megabytes."),
            ("180", "degrees", "radians", "180 degrees are about 3.14 radians."),
        ] {
            assert_eq!(said(convert(Some(amount), from, to).await), expect);
        }
        assert_eq!(
            said(convert(None, "foot", "inches").await),
            "1 foot is 12 inches."
        );
    }

    #[tokio::test]
    async fn what_two_units_share_a_name_for_is_said_for_both() {
        let output = convert(Some("3"), "cups", "millilitres").await.unwrap();
        assert_eq!(
            output.say,
            "3 US cups are about 709.76 millilitres. 3 metric cups are 750 millilitres."
        );
        assert_eq!(output.data["alternatives"][0]["value"], "750");
        // The other side decides between weight and volume.
        assert_eq!(
            said(convert(Some("2"), "ounces", "grams").await),
            "2 ounces are about 56.7 grams."
        );
        assert_eq!(
            said(convert(Some("8"), "us fluid ounces", "us cups").await),
            "8 US fluid ounces are 1 US cup."
        );
    }

    #[tokio::test]
    async fn what_cannot_be_converted_is_told() {
        for (amount, from, to, part) in [
            (
                "5",
                "kilometres",
                "kilograms",
                "Kilometres measure length and kilograms measure mass",
            ),
            ("5", "dollars", "euros", "cannot convert money"),
            ("5", "usd", "kilograms", "cannot convert money"),
            ("5", "bananas", "kilograms", "do not know the unit \"bananas\""),
            ("banana", "miles", "kilometres", "\"banana\""),
            ("9^9^9^9", "miles", "kilometres", "cannot convert"),
            ("1", "", "kilometres", "do not know the unit"),
            (
                "the square root of minus 4",
                "miles",
                "kilometres",
                "no real answer",
            ),
        ] {
            let text = told(convert(Some(amount), from, to).await);
            assert!(text.contains(part), "{amount} {from} {to}: {text}");
        }
    }
}
