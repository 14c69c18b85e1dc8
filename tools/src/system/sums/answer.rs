//! Works a plain expression out with fend, within limits, and words for the result.

use std::time::{Duration, Instant};

use crate::contract::ToolError;

/// How long a sum may take. Ordinary ones take microseconds; a tower of powers never ends.
pub const LIMIT: Duration = Duration::from_millis(500);
/// Digits that are worth hearing; longer whole numbers are said as powers of ten.
const MAX_SPOKEN: usize = 15;
/// Decimals that are worth hearing of a number that has no end.
const DECIMALS: usize = 6;
/// Digits that the data carries.
const MAX_DIGITS: usize = 400;

/// A real number in decimal digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// With a sign and a point where it has them.
    pub digits: String,
    /// Whether these are all of its digits.
    pub exact: bool,
}

/// Stops the calculator at a moment.
struct Deadline(Instant);

impl fend_core::Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Works on a thread of its own, given up when it takes too long.
///
/// # Errors
/// Only when the thread fails; what the work itself answers is inside.
pub async fn in_time<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<Result<T, String>, ToolError> {
    let work = tokio::task::spawn_blocking(work);
    // The calculator looks at its own limit; this one is for the case that it is busy between two looks.
    match tokio::time::timeout(2 * LIMIT, work).await {
        Ok(done) => done.map_err(|e| ToolError::broken("calculate", e)),
        Err(_) => Ok(Err("it takes too long".to_owned())),
    }
}

/// Evaluates plain arithmetic. The context is new and bare: no variables, no random numbers, no exchange rates.
///
/// # Errors
/// Why there is no number, as a part of a sentence.
pub fn evaluate(expression: &str) -> Result<Answer, String> {
    number(&work_out(expression)?)
}

/// The same for a conversion, whose result has that unit behind it.
///
/// # Errors
/// As [`evaluate`], and when the units do not fit.
pub fn evaluate_in(expression: &str, unit: &str) -> Result<Answer, String> {
    let result = work_out(&format!("{expression} to {unit}"))?;
    number(leading(&result))
}

/// A result up to its unit: the number, with "approx." before it.
fn leading(result: &str) -> &str {
    let start = if result.starts_with("approx. ") {
        "approx. ".len()
    } else {
        0
    };
    let length = result[start..]
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))
        .unwrap_or(result.len() - start);
    &result[..start + length]
}

fn work_out(expression: &str) -> Result<String, String> {
    let mut context = fend_core::Context::new();
    let deadline = Deadline(Instant::now() + LIMIT);
    match fend_core::evaluate_with_interrupt(expression, &mut context, &deadline) {
        Ok(result) => Ok(result.get_main_result().to_owned()),
        Err(_) if Instant::now() >= deadline.0 => Err("it takes too long".to_owned()),
        Err(error) if error.contains("division by zero") => Err("nothing can be divided by zero".to_owned()),
        Err(error) => {
            tracing::debug!(%error, "a sum was refused");
            Err("it has no answer, or one that is too large".to_owned())
        }
    }
}

fn number(result: &str) -> Result<Answer, String> {
    let (digits, exact) = match result.strip_prefix("approx. ") {
        Some(digits) => (digits, false),
        None => (result, true),
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
pub fn spoken(answer: &Answer) -> String {
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
