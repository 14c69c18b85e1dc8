//! `calc.evaluate`: sums.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{plain, speech, sums},
};

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
    const WORDED: &'static [&'static str] = &["expression"];
    const EXAMPLES: &'static [&'static str] = &[
        "what is fifteen percent of two hundred",
        "calculate 12 times 7",
        "how much is 96 divided by 8",
        "what's the square root of 144",
        "five plus seven minus two",
        "multiply three point five by four",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "what is fifteen percent of two hundred",
            r#"{"expression": "fifteen percent of two hundred"}"#,
        ),
        (
            "how much is 96 divided by 8",
            r#"{"expression": "96 divided by 8"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what is {expression:sum}",
        "how much is {expression:sum}",
        "calculate {expression:sum}",
    ];
    const LIMITS: &'static str = "Numbers only: no units, currencies, dates or unknowns.";

    async fn run(args: Args, _ctx: &Ctx) -> Result<Output, ToolError> {
        let expression = sums::expression(&args.expression).map_err(|why| {
            ToolError::tell(format!(
                "I cannot calculate that: {why}. Use numbers and operators only."
            ))
        })?;
        let shown = expression.clone();
        let answer = sums::in_time(move || sums::evaluate(&expression)).await?;
        let answer = answer.map_err(|why| ToolError::tell(format!("I cannot calculate that: {why}.")))?;
        let about = if answer.exact { "" } else { "about " };
        Ok(Output::new(
            // The sum is said along, because a recogniser or a model may have changed it on the way.
            format!(
                "{} is {about}{}.",
                speech::sentence(&plain::one_line(&args.expression, 80)),
                sums::spoken(&answer)
            ),
            json!({"expression": shown, "value": answer.digits, "exact": answer.exact}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
            ("three quarters of 80", "60."),
            ("two hundred and forty divided by six", "40."),
            ("a 20 percent tip on 45 dollars", "9."),
            ("15% tip on $80", "12."),
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
            ("2^99999999", "cannot calculate"),
            ("two to the power of ninety nine million", "cannot calculate"),
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
                start.elapsed() < 20 * sums::LIMIT,
                "{expression:?} took {:?}",
                start.elapsed()
            );
        }
        assert!(told(calc(&"1+".repeat(10_000)).await).contains("too long"));
    }
}
