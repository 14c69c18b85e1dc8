//! `info`: what a server says that it has, ours and others'. Of others' only what is asked of it is read, and nothing is
//! believed that is too long.

use serde_json::{Map, Value, json};

use super::wire::Event;

/// What a program is for, by its list in `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Speech to text.
    Recogniser,
    /// Text to speech.
    Voice,
    /// What is asked becomes an answer.
    Conversation,
}

/// A program of a server, or a model or voice of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version; empty when it does not say.
    pub version: String,
    /// Its models or voices that are there, with their languages.
    pub models: Vec<(String, Vec<String>)>,
}

/// Longest name, characters; more of them are cut.
const MAX_NAME: usize = 100;
/// Models and languages that are looked at.
const MAX_MODELS: usize = 500;

impl Offer {
    /// The list in `info`.
    fn list(self) -> &'static str {
        match self {
            Offer::Recogniser => "asr",
            Offer::Voice => "tts",
            Offer::Conversation => "handle",
        }
    }

    /// The list of what a program of that kind has.
    fn models(self) -> &'static str {
        match self {
            Offer::Voice => "voices",
            Offer::Recogniser | Offer::Conversation => "models",
        }
    }
}

/// The first program of this kind that is there, in somebody's `info`; it is the one that serves who asks for none by name.
pub fn first(info: &Event, offer: Offer) -> Option<Program> {
    let programs = info.data.get(offer.list())?.as_array()?;
    let here = |value: &Value| value["installed"].as_bool().unwrap_or(true);
    let program = programs.iter().find(|program| here(program))?;
    let models = program[offer.models()].as_array().into_iter().flatten();
    let models = models.take(MAX_MODELS).filter(|model| here(model)).map(|model| {
        let languages = model["languages"].as_array().into_iter().flatten();
        let languages = languages
            .take(MAX_MODELS)
            .filter_map(|language| language.as_str().map(short));
        (
            short(model["name"].as_str().unwrap_or_default()),
            languages.collect(),
        )
    });
    Some(Program {
        name: short(program["name"].as_str().unwrap_or_default()),
        version: short(program["version"].as_str().unwrap_or_default()),
        models: models.collect(),
    })
}

/// Somebody else's text as we show it: one line, not long.
pub fn short(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_NAME)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Our own `info`: one program for each of these, each with one model of some languages.
pub fn info(offers: &[(Offer, String, Vec<String>)]) -> Event {
    let mut lists = Map::new();
    // Home Assistant reads lists that are empty and trips over those that are not there.
    for list in ["asr", "tts", "handle", "intent", "wake", "mic", "snd"] {
        lists.insert(list.to_owned(), json!([]));
    }
    for (offer, model, languages) in offers {
        let mut program = artifact("tiro", about(*offer));
        let mut model = artifact(model, about(*offer));
        model.insert("languages".to_owned(), json!(languages));
        if *offer == Offer::Voice {
            model.insert("speakers".to_owned(), Value::Null);
        }
        program.insert(offer.models().to_owned(), json!([model]));
        let abilities: &[(&str, bool)] = match offer {
            Offer::Recogniser => &[
                ("supports_transcript_streaming", false),
                ("requires_external_vad", true),
                ("prefers_auto_gain_enabled", false),
                ("prefers_noise_reduction_enabled", false),
            ],
            Offer::Voice => &[("supports_synthesize_streaming", false)],
            Offer::Conversation => &[
                ("supports_handled_streaming", false),
                ("supports_home_control", false),
            ],
        };
        for (ability, has) in abilities {
            program.insert((*ability).to_owned(), json!(has));
        }
        lists.insert(offer.list().to_owned(), json!([program]));
    }
    Event {
        data: lists,
        ..Event::new("info")
    }
}

fn about(offer: Offer) -> &'static str {
    match offer {
        Offer::Recogniser => "Tiro's recogniser",
        Offer::Voice => "Tiro's voice",
        Offer::Conversation => "Tiro, with calendar, mail, files and the desktop of its person",
    }
}

fn artifact(name: &str, description: &str) -> Map<String, Value> {
    let fields = json!({
        "name": name,
        "description": description,
        "attribution": {"name": "Tiro", "url": ""},
        "installed": true,
        "version": env!("CARGO_PKG_VERSION"),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The languages of Whisper's multilingual models, ISO 639 (LANGUAGES in whisper/tokenizer.py of openai-whisper, those of
/// two letters).
pub const WHISPER: &str = "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg \
     lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu \
     am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt ln ha ba jw su";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_is_read_as_what_we_offer() {
        let offers = [
            (
                Offer::Recogniser,
                "whisper-base".to_owned(),
                vec!["en".to_owned(), "de".to_owned()],
            ),
            (Offer::Conversation, "tiro".to_owned(), vec!["en".to_owned()]),
        ];
        let info = info(&offers);
        let recogniser = first(&info, Offer::Recogniser).unwrap();
        assert_eq!(recogniser.name, "tiro");
        assert_eq!(
            recogniser.models,
            [("whisper-base".to_owned(), vec!["en".to_owned(), "de".to_owned()])]
        );
        assert!(first(&info, Offer::Conversation).is_some() && first(&info, Offer::Voice).is_none());
        assert_eq!(info.data["intent"], json!([]));
    }

    #[test]
    fn what_others_say_is_read_as_far_as_it_makes_sense() {
        let info = |data: Value| Event {
            data: data.as_object().unwrap().clone(),
            ..Event::new("info")
        };
        let missing = json!({"asr": [
            {"name": "gone", "installed": false, "models": []},
            {"name": "there\n!", "version": null, "installed": true, "models": [
                {"name": "m", "languages": ["en", 3], "installed": false},
                {"name": "x".repeat(1000), "languages": ["de", 3]}, 7]},
        ]});
        let program = first(&info(missing), Offer::Recogniser).unwrap();
        assert_eq!((program.name.as_str(), program.version.as_str()), ("there !", ""));
        assert_eq!(program.models.len(), 2);
        assert_eq!(
            (program.models[0].0.len(), program.models[0].1.join(" ")),
            (100, "de".to_owned())
        );
        for odd in [
            json!({}),
            json!({"asr": null}),
            json!({"asr": {}}),
            json!({"asr": []}),
        ] {
            assert_eq!(first(&info(odd), Offer::Recogniser), None);
        }
        assert_eq!(
            first(&info(json!({"asr": [3]})), Offer::Recogniser),
            Some(Program::default())
        );
    }

    #[test]
    fn the_languages_are_codes() {
        assert!(WHISPER.split_whitespace().all(|code| code.len() == 2));
        assert_eq!(WHISPER.split_whitespace().count(), 98);
    }
}
