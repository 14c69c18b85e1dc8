//! Weather codes of the World Meteorological Organization (table 4677, as Open-Meteo gives them) in words.

/// What the sky does, to be put after "there is" or a comma; nothing for codes that mean nothing.
pub fn sky(code: i64) -> Option<&'static str> {
    Some(match code {
        0 => "clear sky",
        1 => "mostly clear sky",
        2 => "some clouds",
        3 => "an overcast sky",
        45 | 48 => "fog",
        51 | 53 | 55 => "drizzle",
        56 | 57 => "freezing drizzle",
        61 => "light rain",
        63 => "rain",
        65 => "heavy rain",
        66 | 67 => "freezing rain",
        71 => "light snow",
        73 => "snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 => "light showers",
        81 => "showers",
        82 => "violent showers",
        85 | 86 => "snow showers",
        95 => "a thunderstorm",
        96 | 99 => "a thunderstorm with hail",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_words() {
        assert_eq!(sky(0), Some("clear sky"));
        assert_eq!(sky(63), Some("rain"));
        assert_eq!(sky(99), Some("a thunderstorm with hail"));
        assert_eq!((sky(4), sky(-1), sky(i64::MAX)), (None, None, None));
    }
}
