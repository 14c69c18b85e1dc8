//! `calc.evaluate`: sums.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{plain, speech, sums},
};

/// How long a sum may take. Ordinary ones take microseconds; a tower of powers never ends.
const LIMIT: Duration = Duration::from_millis(500);
/// Digits that are worth hearing; longer whole numbers are said as powers of ten.
const MAX_SPOKEN: usize = 15;
/// Decimals that are worth hearing of a number that has no end.
const DECIMALS: usize = 6;
/// Digits that the data carries.
const MAX_DIGITS: usize = 400;

/// Calculates.
pub struct This;

/// What to calculate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The sum, in signs or words: "15% of 200", "square root of 144"
    expression: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calc.evaluate";
    const SUMMARY: &'static str = "Calculate a sum: plus, minus, times, divided, percent, powers, roots";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "what is fifteen percent of two hundred",
        "calculate 12 times 7",
        "how much is 96 divided by 8",
        "what's the square root of 144",
        "five plus seven minus two",
        "multiply three point five by four",
    ];
    const LIMITS: &'static str = "Numbers only: no units, currencies, dates or unknowns.";

    async fn run(args: Args, _ctx: &Ctx) -> Result<Output, ToolError> {
        let expression = sums::expression(&args.expression).map_err(|why| {
            ToolError::tell(format!(
                "I cannot calculate that: {why}. Use numbers and operators only."
            ))
        })?;
        let shown = expression.clone();
        let work = tokio::task::spawn_blocking(move || evaluate(&expression));
        // The calculator looks at its own limit; this one is for the case that it is busy between two looks.
        let answer = match tokio::time::timeout(2 * LIMIT, work).await {
            Ok(done) => done.map_err(|e| ToolError::broken("calculate", e))?,
            Err(_) => Err("it takes too long".to_owned()),
        };
        let answer = answer.map_err(|why| ToolError::tell(format!("I cannot calculate that: {why}.")))?;
        let about = if answer.exact { "" } else { "about " };
        Ok(Output::new(
            // The sum is said along, because a recogniser or a model may have changed it on the way.
            format!(
                "{} is {about}{}.",
                speech::sentence(&plain::one_line(&args.expression, 80)),
                spoken(&answer)
            ),
            json!({"expression": shown, "value": answer.digits, "exact": answer.exact}),
        ))
    }
}

/// A real number in decimal digits.
#[derive(Debug, PartialEq)]
struct Answer {
    digits: String,
    exact: bool,
}

/// Stops the calculator at a moment.
struct Deadline(Instant);

impl fend_core::Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Evaluates plain arithmetic; the error is a part of a sentence. The context is new and bare: no variables, no
/// random numbers, no exchange rates.
fn evaluate(expression: &str) -> Result<Answer, String> {
    let mut context = fend_core::Context::new();
    let deadline = Deadline(Instant::now() + LIMIT);
    let result = match fend_core::evaluate_with_interrupt(expression, &mut context, &deadline) {
        Ok(result) => result.get_main_result().to_owned(),
        Err(_) if Instant::now() >= deadline.0 => return Err("it takes too long".to_owned()),
        Err(error) if error.contains("division by zero") => {
            return Err("nothing can be divided by zero".to_owned());
        }
        Err(error) => {
            tracing::debug!(%error, "a sum was refused");
            return Err("it has no answer, or one that is too large".to_owned());
        }
    };
    let (digits, exact) = match result.strip_prefix("approx. ") {
        Some(digits) => (digits, false),
        None => (result.as_str(), true),
    };
    let plain = digits.strip_prefix('-').unwrap_or(digits);
    if plain.is_empty() || !plain.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err("it has no real answer".to_owned());
    }
    if digits.len() > MAX_DIGITS {
        return Err(format!("the answer has {} digits", plain.len()));
    }
    Ok(Answer {
        digits: digits.to_owned(),
        exact,
    })
}

/// With commas between thousands, decimals cut where they do not matter, and powers of ten for what is longer.
fn spoken(answer: &Answer) -> String {
    let (sign, digits) = match answer.digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", answer.digits.as_str()),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() > MAX_SPOKEN {
        return format!(
            "{sign}{}.{} times 10 to the power of {}",
            &whole[..1],
            &whole[1..4],
            whole.len() - 1
        );
    }
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    // A small number would lose all that it has.
    let cut = match !answer.exact && whole != "0" {
        true => &decimals[..decimals.len().min(DECIMALS)],
        false => decimals,
    };
    match cut {
        "" => format!("{sign}{grouped}"),
        decimals => format!("{sign}{grouped}.{decimals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, run, said, told};

    async fn calc(expression: &str) -> Result<Output, ToolError> {
        let home = tempfile::tempdir().unwrap();
        run(
            "calc.evaluate",
            json!({"expression": expression}),
            &ctx(home.path()),
        )
        .await
    }

    #[tokio::test]
    async fn sums_are_exact() {
        for (expression, expect) in [
            ("0.1 + 0.2", "0.3."),
            ("fifteen percent of two hundred", "30."),
            ("seven times eight", "56."),
            ("square root of 144", "12."),
            ("three and a half plus two", "5.5."),
            ("1234567 * 1000", "1,234,567,000."),
            ("minus 5 minus 1000", "-1,005."),
            ("square root of two", "about 1.414213."),
            ("10 / 3", "about 3.333333."),
            ("200 + 15%", "230."),
            ("two to the power of 100", "1.267 times 10 to the power of 30."),
            ("five factorial", "120."),
            ("17 mod 5", "2."),
            ("cube root of 27", "3."),
            ("2^-2", "0.25."),
        ] {
            assert_eq!(
                said(calc(expression).await),
                format!("{} is {expect}", speech::sentence(expression))
            );
        }
    }

    #[tokio::test]
    async fn what_has_no_answer_is_told_and_soon() {
        for (expression, part) in [
            ("5 / 0", "divided by zero"),
            ("0 ^ -1", "divided by zero"),
            ("square root of -4", "no real answer"),
            ("9^9^9^9", "cannot calculate"),
            ("9^9^9", "cannot calculate"),
            ("99999999!", "cannot calculate"),
            ("7^9999", "digits"),
            ("1/(1-1)", "divided by zero"),
            ("5 km to miles", "\"km\""),
            ("roll d20", "\"roll\""),
            ("the meaning of life", "\"meaning\""),
            ("", "nothing to calculate"),
            ("\u{202e}\0", "does not belong"),
        ] {
            let start = Instant::now();
            let text = told(calc(expression).await);
            assert!(text.contains(part), "{expression:?}: {text}");
            assert!(
                start.elapsed() < 4 * LIMIT,
                "{expression:?} took {:?}",
                start.elapsed()
            );
        }
        assert!(told(calc(&"1+".repeat(10_000)).await).contains("too long"));
    }
}
