//! `weather.forecast`: what the weather will be, where that was turned on.

use std::time::Duration;

use jiff::{Zoned, civil::DateTime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        plain, speech,
        weather::{self, Day, Forecast, Hour, sky},
    },
    when::{self, Hint, When},
};

/// Most days that are said one by one.
const SPOKEN: usize = 5;

/// Tells the weather.
pub struct This;

/// When, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Day or time, as said; without it now and today
    when: Option<String>,
    /// City, if not at home
    place: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "weather.forecast";
    const SUMMARY: &'static str = "Weather forecast: rain, temperature, wind, for a day and place";
    const EFFECT: Effect = Effect::Read;
    const TIMED: bool = true;
    const TIMEOUT: Duration = Duration::from_secs(25);
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "what's the weather like",
        "will it rain tomorrow",
        "weather in paris on saturday",
        "how cold will it be tonight",
        "do I need an umbrella this afternoon",
        "is it going to snow this week",
        "weather forecast for the weekend",
        "how warm is it outside",
        "is it windy today",
        "what temperature is it in tokyo",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "weather in paris on saturday",
            r#"{"when": "saturday", "place": "paris"}"#,
        ),
        (
            "do I need an umbrella this afternoon",
            r#"{"when": "this afternoon"}"#,
        ),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "what is the weather [like] [{when:day}]",
        "what is the weather [like] (for|on) {when:day}",
        "what will the weather be [like] [{when:day}]",
        "how is the weather [{when:day}]",
        "[the] weather [forecast] [for] {when:day}",
        "weather [forecast]",
        "(what is the|the) weather forecast [for {when:day}]",
        "will it (rain|snow) [{when:day}]",
        "is it going to (rain|snow) [{when:day}]",
        "do i need an umbrella [{when:day}]",
        "is it (raining|snowing) [outside]",
    ];
    const LIMITS: &'static str = "Needs the internet, is off until turned on, and knows at most 16 days.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("ask for the weather", move |ctx| {
            let settings = &ctx.reach.weather;
            let place = weather::place(settings, &ctx.dirs.cache, args.place.as_deref())?;
            let span = Span::of(args.when.as_deref(), &ctx.now)?;
            let (forecast, old) = weather::forecast(settings, &ctx.dirs.cache, &place, &ctx.now)?;
            let unit = if settings.imperial { "mph" } else { "km/h" };
            let mut say = span.say(&forecast, &place.name, &ctx.now, unit)?;
            if old {
                let fetched = forecast.fetched.to_zoned(ctx.now.time_zone().clone());
                say.push_str(&format!(
                    " That is from {}, because the weather service cannot be reached.",
                    speech::moment(&fetched, &ctx.now)
                ));
            }
            let data = json!({
                "place": place.name,
                "fetched": forecast.fetched.to_string(),
                "unit": if settings.imperial { "fahrenheit" } else { "celsius" },
                "now": forecast.now,
                "days": forecast.days.iter().filter(|day| span.has(day)).collect::<Vec<_>>(),
            });
            Ok(Output::new(say, data))
        })
        .await
    }
}

/// What was asked about, in wall time.
struct Span {
    from: DateTime,
    to: DateTime,
    /// Nothing was said: it is about now and the rest of today.
    now: bool,
}

impl Span {
    fn of(said: Option<&str>, now: &Zoned) -> Result<Span, ToolError> {
        let said = said
            .map(|said| plain::one_line(said, 100))
            .filter(|said| !said.is_empty());
        let about_now = said
            .as_deref()
            .is_none_or(|said| ["now", "right now", "currently"].contains(&said));
        let outside = || ToolError::tell("That is outside the calendar.");
        let day = |at: &Zoned| -> Result<(DateTime, DateTime), ToolError> {
            let next = at.date().tomorrow().map_err(|_| outside())?;
            Ok((
                at.date().to_datetime(jiff::civil::Time::midnight()),
                next.to_datetime(jiff::civil::Time::midnight()),
            ))
        };
        let (from, to) = match said.filter(|_| !about_now) {
            None => day(now)?,
            Some(said) => {
                let resolved = when::resolve(&said, now, Hint::Search).map_err(|e| {
                    ToolError::tell(format!("{e} Say it as in tomorrow, or saturday afternoon."))
                })?;
                match (&resolved.value, resolved.value.stretch(now).ok_or_else(outside)?) {
                    // "in two days" is the day, not a moment of it.
                    (When::Duration { .. }, (_, Some(to))) => day(&to)?,
                    (_, (from, to)) => {
                        let from = from.unwrap_or_else(|| now.clone()).datetime();
                        let to = to.map_or(DateTime::MAX, |to| to.datetime());
                        let hour = from
                            .checked_add(jiff::Span::new().hours(1))
                            .map_err(|_| outside())?;
                        (from, to.max(hour))
                    }
                }
            }
        };
        Ok(Span {
            from,
            to,
            now: about_now,
        })
    }

    /// Whether a day is in it.
    fn has(&self, day: &Day) -> bool {
        let start = day.date.to_datetime(jiff::civil::Time::midnight());
        let end = start
            .checked_add(jiff::Span::new().days(1))
            .unwrap_or(DateTime::MAX);
        start < self.to && self.from < end
    }

    /// The answer.
    fn say(&self, forecast: &Forecast, place: &str, now: &Zoned, unit: &str) -> Result<String, ToolError> {
        let days: Vec<&Day> = forecast.days.iter().filter(|day| self.has(day)).collect();
        let place = if place.is_empty() {
            String::new()
        } else {
            format!(" in {place}")
        };
        let Some(first) = days.first() else {
            let last = forecast.days.last().map(|day| day.date);
            return Err(ToolError::tell(match last {
                Some(last) if self.from.date() > last => {
                    format!("The forecast ends {}.", speech::on_day(last, now))
                }
                _ => "There is no forecast for days that are over.".to_owned(),
            }));
        };
        let on = |day: &Day| speech::on_day(day.date, now);
        let mut say = String::new();
        if self.now
            && let Some(hour) = &forecast.now
        {
            say = format!("It is {}{place} now", of_hour(hour, unit));
            say.push_str(". ");
        }
        let whole = self.to.duration_since(self.from).as_hours() >= 23;
        if !whole && !self.now {
            let hours: Vec<&Hour> = forecast
                .hours
                .iter()
                .filter(|hour| self.from <= hour.at && hour.at < self.to)
                .collect();
            if !hours.is_empty() {
                let at = format!(
                    "{} from {} to {}",
                    on(first),
                    speech::time(self.from.time()),
                    speech::time(self.to.time())
                );
                return Ok(format!(
                    "{}{place}: {}.",
                    speech::sentence(&at),
                    of_hours(&hours, unit)
                ));
            }
        }
        let listed: Vec<String> = days
            .iter()
            .take(SPOKEN)
            .enumerate()
            .map(|(n, day)| {
                let place = if n == 0 && say.is_empty() {
                    place.as_str()
                } else {
                    ""
                };
                format!("{}{place}: {}", speech::sentence(&on(day)), of_day(day, unit))
            })
            .collect();
        say.push_str(&listed.join(". "));
        say.push('.');
        Ok(say)
    }
}

fn of_day(day: &Day, unit: &str) -> String {
    let mut parts = Vec::new();
    parts.extend(day.code.and_then(sky).map(str::to_owned));
    match (day.low, day.high) {
        (Some(low), Some(high)) if degrees(low) != degrees(high) => {
            parts.push(format!("{} to {} degrees", degrees(low), degrees(high)))
        }
        (_, Some(one)) | (Some(one), _) => parts.push(format!("{} degrees", degrees(one))),
        _ => {}
    }
    parts.extend(rain(day.rain));
    parts.extend(wind(day.wind, unit));
    joined(parts)
}

fn of_hour(hour: &Hour, unit: &str) -> String {
    let mut parts = Vec::new();
    parts.extend(hour.temperature.map(|one| format!("{} degrees", degrees(one))));
    parts.extend(hour.code.and_then(sky).map(|sky| format!("with {sky}")));
    parts.extend(wind(hour.wind, unit));
    joined(parts)
}

/// Several hours as one: the worst weather, the span of the temperatures, the highest chance.
fn of_hours(hours: &[&Hour], unit: &str) -> String {
    let most =
        |value: fn(&Hour) -> Option<f64>| hours.iter().filter_map(|hour| value(hour)).max_by(f64::total_cmp);
    let least = hours
        .iter()
        .filter_map(|hour| hour.temperature)
        .min_by(f64::total_cmp);
    of_day(
        &Day {
            date: hours[0].at.date(),
            code: hours.iter().filter_map(|hour| hour.code).max(),
            high: most(|hour| hour.temperature),
            low: least,
            rain: most(|hour| hour.rain),
            wind: most(|hour| hour.wind),
        },
        unit,
    )
}

fn degrees(value: f64) -> i64 {
    // No minus zero, and nothing is hotter than that.
    value.round().clamp(-999.0, 999.0) as i64
}

fn rain(chance: Option<f64>) -> Option<String> {
    let chance = chance?.round();
    Some(match chance {
        ..5.0 => "no rain expected".to_owned(),
        _ => format!("{chance:.0} percent chance of rain"),
    })
}

/// Only wind that is worth a word: from a strong breeze on (Beaufort 6).
fn wind(speed: Option<f64>, unit: &str) -> Option<String> {
    let strong = if unit == "mph" { 25.0 } else { 39.0 };
    speed
        .filter(|speed| *speed >= strong)
        .map(|speed| format!("wind of {speed:.0} {unit}"))
}

fn joined(parts: Vec<String>) -> String {
    match parts.is_empty() {
        true => "nothing is known".to_owned(),
        false => parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        system::weather::tests::{body, say, serve, settings},
        testing::{ctx, run, said, told},
    };

    #[tokio::test]
    async fn days_hours_and_now_are_told() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let ask = async |ctx: &Ctx, args: serde_json::Value| run("weather.forecast", args, ctx).await;
        assert!(told(ask(&ctx, json!({})).await).contains("weather.enabled"));
        let server = serve(|_, stream| say(stream, "200 OK", &body()));
        ctx.reach.weather = settings(&server);
        for (args, expect) in [
            (
                json!({}),
                "It is 4 degrees, with some clouds in Berlin now. Today: light rain, 0 to 8 degrees, 80 percent chance of rain.",
            ),
            (
                json!({"when": "tomorrow"}),
                "Tomorrow in Berlin: an overcast sky, 5 to 10 degrees, 10 percent chance of rain, wind of 60 km/h.",
            ),
            (
                json!({"when": "tomorrow afternoon"}),
                "Tomorrow from 12:00 to 18:00 in Berlin: rain, 6 degrees, 55 percent chance of rain.",
            ),
            (
                json!({"when": "in two days"}),
                "On Wednesday 25 November in Berlin: an overcast sky,",
            ),
            (
                json!({"when": "the weekend"}),
                "On Saturday 28 November in Berlin: an overcast sky,",
            ),
        ] {
            let text = said(ask(&ctx, args.clone()).await);
            assert!(text.starts_with(expect), "{args}: {text}");
        }
        assert!(told(ask(&ctx, json!({"when": "in three months"})).await).contains("The forecast ends"));
        assert!(told(ask(&ctx, json!({"when": "purple"})).await).contains("I do not understand the time"));
        assert_eq!(server.asked.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let nothing = Day {
            date: jiff::civil::date(2026, 11, 23),
            code: None,
            high: None,
            low: None,
            rain: None,
            wind: None,
        };
        assert_eq!(of_day(&nothing, "km/h"), "nothing is known");
        let cold = Day {
            high: Some(-0.2),
            low: Some(-0.3),
            rain: Some(2.0),
            ..nothing
        };
        assert_eq!(of_day(&cold, "km/h"), "0 degrees, no rain expected");
    }
}
