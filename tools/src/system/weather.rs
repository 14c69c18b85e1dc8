//! The weather, from a service in the shape of Open-Meteo. This is the only request that Tiro makes of its own accord,
//! and it makes none before `weather.enabled` is set. What leaves is the place; what comes back is kept for a while.

mod sky;

use std::{io::Read as _, path::Path, time::Duration};

use jiff::{Timestamp, Zoned, civil::DateTime};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ureq::{
    Agent,
    http::Uri,
    tls::{RootCerts, TlsConfig},
};

use super::{dav, plain, store};
use crate::contract::{ToolError, Weather};
pub use sky::sky;

/// How long the service may take for one answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// Largest answer, in bytes; a real one has about twenty thousand.
const MAX_ANSWER: u64 = 1 << 20;
/// How long a forecast counts as new, and how long an old one is better than none.
const FRESH: jiff::SignedDuration = jiff::SignedDuration::from_mins(30);
const STALE: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
/// Days of a forecast; the most that services give.
pub const DAYS: usize = 16;
/// Longest name of a place, in characters.
const MAX_PLACE: usize = 80;

/// Where somewhere is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// As it is called.
    pub name: String,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// A forecast, as it was fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// When.
    pub fetched: Timestamp,
    /// Each day from today, in the place's own time.
    pub days: Vec<Day>,
    /// Each hour of these days.
    pub hours: Vec<Hour>,
    /// What it is like now.
    pub now: Option<Hour>,
}

/// One day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// Which.
    pub date: jiff::civil::Date,
    /// WMO code of the weather.
    pub code: Option<i64>,
    /// Highest and lowest temperature.
    pub high: Option<f64>,
    #[expect(missing_docs, reason = "said with the one before")]
    pub low: Option<f64>,
    /// Chance of rain or snow, in percent.
    pub rain: Option<f64>,
    /// Strongest wind.
    pub wind: Option<f64>,
}

/// One hour, or now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// When it begins.
    pub at: DateTime,
    /// WMO code of the weather.
    pub code: Option<i64>,
    /// Temperature.
    pub temperature: Option<f64>,
    /// Chance of rain or snow, in percent.
    pub rain: Option<f64>,
    /// Wind.
    pub wind: Option<f64>,
}

/// What keeps it from being told.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the weather service cannot be reached ({0})")]
    Unreachable(String),
    #[error("the weather service answered with status {0}")]
    Status(u16),
    #[error("the weather service sent what is no forecast")]
    Garbage,
    #[error("the address of the weather service in the config is none")]
    Address,
}

/// Where the forecast is for: the place that was said, else the person's own.
///
/// # Errors
/// `Tell` when the weather is off, the place is unknown, or nobody can be asked where it is.
pub fn place(settings: &Weather, cache: &Path, said: Option<&str>) -> Result<Place, ToolError> {
    if !settings.enabled {
        return Err(ToolError::tell(
            "The weather is off, because it has to be asked for on the internet. Turn it on with: tiro config set weather.enabled true.",
        ));
    }
    let said = said
        .map(|said| plain::one_line(said, MAX_PLACE))
        .filter(|said| !said.is_empty());
    let own = plain::one_line(&settings.place, MAX_PLACE);
    let is_own = said.as_ref().is_none_or(|said| {
        said.eq_ignore_ascii_case(&own)
            || ["here", "home", "at home", "my place", "outside"].contains(&said.to_lowercase().as_str())
    });
    if is_own && let Some((latitude, longitude)) = settings.at {
        return Ok(Place {
            name: own,
            latitude,
            longitude,
        });
    }
    let name = if is_own { own } else { said.unwrap_or_default() };
    if name.is_empty() {
        return Err(ToolError::tell(
            "For which place? Say one, or set weather.place in the config to where you live.",
        ));
    }
    look_up(settings, cache, &name)
}

/// Asks the service of places, once for each name.
fn look_up(settings: &Weather, cache: &Path, name: &str) -> Result<Place, ToolError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        results: Vec<Found>,
    }
    #[derive(Deserialize)]
    struct Found {
        name: String,
        latitude: f64,
        longitude: f64,
    }
    let key = format!("place {} {}", settings.places_url, name.to_lowercase());
    let kept = cache.join("weather").join(file_name(&key));
    if let Ok(bytes) = store::read_bounded(&kept, MAX_ANSWER)
        && let Ok(place) = serde_json::from_slice::<Place>(&bytes)
    {
        return Ok(place);
    }
    let query = [
        ("name", name.to_owned()),
        ("count", "1".to_owned()),
        ("language", "en".to_owned()),
        ("format", "json".to_owned()),
    ];
    let bytes = fetch(&settings.places_url, &query).map_err(told)?;
    let answer: Answer = serde_json::from_slice(&bytes).map_err(|_| told(Trouble::Garbage))?;
    let sane = |found: &Found| found.latitude.abs() <= 90.0 && found.longitude.abs() <= 180.0;
    let Some(found) = answer.results.into_iter().find(sane) else {
        return Err(ToolError::tell(format!(
            "The weather service knows no place called {name}."
        )));
    };
    let place = Place {
        name: plain::one_line(&found.name, MAX_PLACE),
        latitude: found.latitude,
        longitude: found.longitude,
    };
    keep(&kept, &place);
    Ok(place)
}

/// The forecast for a place, and whether it is an old one because no new one came.
///
/// # Errors
/// `Tell` when none can be had and none of the last day is kept.
pub fn forecast(
    settings: &Weather,
    cache: &Path,
    place: &Place,
    now: &Zoned,
) -> Result<(Forecast, bool), ToolError> {
    let key = format!(
        "{} {:.3} {:.3} {}",
        settings.url, place.latitude, place.longitude, settings.imperial
    );
    let kept = cache.join("weather").join(file_name(&key));
    let old: Option<Forecast> = store::read_bounded(&kept, MAX_ANSWER)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let age = |forecast: &Forecast| now.timestamp().duration_since(forecast.fetched).abs();
    if let Some(old) = old.as_ref().filter(|old| age(old) < FRESH) {
        return Ok((old.clone(), false));
    }
    let mut query = vec![
        ("latitude", format!("{:.4}", place.latitude)),
        ("longitude", format!("{:.4}", place.longitude)),
        ("current", "temperature_2m,weather_code,wind_speed_10m".to_owned()),
        (
            "daily",
            "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max,wind_speed_10m_max".to_owned(),
        ),
        (
            "hourly",
            "temperature_2m,weather_code,precipitation_probability,wind_speed_10m".to_owned(),
        ),
        ("timezone", "auto".to_owned()),
        ("forecast_days", DAYS.to_string()),
    ];
    if settings.imperial {
        query.push(("temperature_unit", "fahrenheit".to_owned()));
        query.push(("wind_speed_unit", "mph".to_owned()));
    }
    let new =
        fetch(&settings.url, &query).and_then(|bytes| read(&bytes, now.timestamp()).ok_or(Trouble::Garbage));
    match (new, old) {
        (Ok(forecast), _) => {
            keep(&kept, &forecast);
            Ok((forecast, false))
        }
        (Err(error), Some(old)) if age(&old) < STALE => {
            tracing::warn!(%error, "an older forecast is told");
            Ok((old, true))
        }
        (Err(error), _) => Err(told(error)),
    }
}

/// The host that hears of the place, for `tiro doctor`.
pub fn host(settings: &Weather) -> Option<String> {
    let uri: Uri = settings.url.parse().ok()?;
    uri.host().map(str::to_owned)
}

/// One request. Nobody is followed elsewhere, and nothing of the person but the query is sent.
fn fetch(url: &str, query: &[(&str, String)]) -> Result<Vec<u8>, Trouble> {
    let uri: Uri = url.parse().map_err(|_| Trouble::Address)?;
    let host = uri.host().ok_or(Trouble::Address)?;
    let plain_http = uri.scheme_str() == Some("http");
    // Where the person is must not be read on the way.
    if !(uri.scheme_str() == Some("https") || plain_http && dav::is_near(host)) {
        return Err(Trouble::Address);
    }
    let mut config = Agent::config_builder()
        .user_agent(concat!("tiro/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::PlatformVerifier)
                .build(),
        );
    if plain_http {
        config = config.proxy(None);
    }
    let agent: Agent = config.build().into();
    let mut request = agent.get(url);
    for (name, value) in query {
        request = request.query(*name, value);
    }
    let unreachable =
        |error: &dyn std::fmt::Display| Trouble::Unreachable(plain::one_line(&error.to_string(), 120));
    let mut answer = request.call().map_err(|e| unreachable(&e))?;
    if answer.status() != 200 {
        return Err(Trouble::Status(answer.status().as_u16()));
    }
    let mut bytes = Vec::new();
    let body = answer.body_mut().as_reader();
    body.take(MAX_ANSWER + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| unreachable(&e))?;
    match bytes.len() as u64 > MAX_ANSWER {
        true => Err(Trouble::Garbage),
        false => Ok(bytes),
    }
}

/// Reads an answer. What has the wrong shape or cannot be true is as if it were not there.
fn read(bytes: &[u8], fetched: Timestamp) -> Option<Forecast> {
    #[derive(Deserialize)]
    struct Answer {
        current: Option<Current>,
        daily: Daily,
        #[serde(default)]
        hourly: Hourly,
    }
    #[derive(Deserialize)]
    struct Current {
        time: DateTime,
        temperature_2m: Option<f64>,
        weather_code: Option<i64>,
        wind_speed_10m: Option<f64>,
    }
    #[derive(Deserialize)]
    struct Daily {
        time: Vec<jiff::civil::Date>,
        #[serde(default)]
        weather_code: Vec<Option<i64>>,
        #[serde(default)]
        temperature_2m_max: Vec<Option<f64>>,
        #[serde(default)]
        temperature_2m_min: Vec<Option<f64>>,
        #[serde(default)]
        precipitation_probability_max: Vec<Option<f64>>,
        #[serde(default)]
        wind_speed_10m_max: Vec<Option<f64>>,
    }
    #[derive(Deserialize, Default)]
    struct Hourly {
        #[serde(default)]
        time: Vec<DateTime>,
        #[serde(default)]
        weather_code: Vec<Option<i64>>,
        #[serde(default)]
        temperature_2m: Vec<Option<f64>>,
        #[serde(default)]
        precipitation_probability: Vec<Option<f64>>,
        #[serde(default)]
        wind_speed_10m: Vec<Option<f64>>,
    }
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    let at = |values: &[Option<f64>], n: usize, low: f64, high: f64| {
        values
            .get(n)
            .copied()
            .flatten()
            .filter(|value| (low..=high).contains(value))
    };
    // Hotter and colder than anywhere on earth, in either unit.
    let degrees = |values: &[Option<f64>], n| at(values, n, -150.0, 150.0);
    let percent = |values: &[Option<f64>], n| at(values, n, 0.0, 100.0);
    let speed = |values: &[Option<f64>], n| at(values, n, 0.0, 600.0);
    let (daily, hourly) = (&answer.daily, &answer.hourly);
    let days: Vec<Day> = daily
        .time
        .iter()
        .take(DAYS)
        .enumerate()
        .map(|(n, date)| Day {
            date: *date,
            code: daily.weather_code.get(n).copied().flatten(),
            high: degrees(&daily.temperature_2m_max, n),
            low: degrees(&daily.temperature_2m_min, n),
            rain: percent(&daily.precipitation_probability_max, n),
            wind: speed(&daily.wind_speed_10m_max, n),
        })
        .collect();
    let hours = hourly
        .time
        .iter()
        .take(DAYS * 25)
        .enumerate()
        .map(|(n, at)| Hour {
            at: *at,
            code: hourly.weather_code.get(n).copied().flatten(),
            temperature: degrees(&hourly.temperature_2m, n),
            rain: percent(&hourly.precipitation_probability, n),
            wind: speed(&hourly.wind_speed_10m, n),
        })
        .collect();
    let now = answer.current.map(|now| Hour {
        at: now.time,
        code: now.weather_code,
        temperature: degrees(&[now.temperature_2m], 0),
        rain: None,
        wind: speed(&[now.wind_speed_10m], 0),
    });
    let told = days.iter().any(|day| day.high.is_some() || day.code.is_some());
    told.then_some(Forecast {
        fetched,
        days,
        hours,
        now,
    })
}

/// Keeping it is a courtesy to the service; where it cannot be kept it is asked again.
fn keep<T: Serialize>(path: &Path, what: &T) {
    let folder = path.parent().unwrap_or(path);
    let kept = serde_json::to_vec(what)
        .map_err(|e| e.to_string())
        .and_then(|bytes| {
            store::make_folder(folder)
                .and_then(|()| store::replace(path, &bytes))
                .map_err(|e| e.to_string())
        });
    if let Err(error) = kept {
        tracing::debug!(error, "a forecast is not kept");
    }
}

/// A file for a key, whatever is in it.
fn file_name(key: &str) -> String {
    let hash = Sha256::digest(key.as_bytes());
    let front: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    format!("{front}.json")
}

fn told(error: Trouble) -> ToolError {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().collect::<String>())
        .unwrap_or_default();
    ToolError::tell(format!("{first}{}. Try again later.", chars.as_str()))
}

#[cfg(test)]
pub(crate) mod tests;
