//! Tiro for others: its recogniser, its voice and Tiro itself, for Home Assistant and whoever else speaks the protocol.
//!
//! Off until the config names an address, on this machine alone unless it says so twice, few at once, each within its times.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use models::stt::Stt;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use super::{
    describe::{self, Offer, WHISPER},
    place::Place,
    session::{Session, Times},
    voice::{CommandVoice, Voice},
    wire::Event,
};
use crate::{
    config::{Config, SttBackend},
    room::Limits,
    run::{self, Source},
};

/// Clients at once. Home Assistant has one connection for each thing that it wants at a moment.
const MAX_CLIENTS: usize = 32;
/// And from one address.
const MAX_OF_ONE: usize = 16;
/// Texts that are made to sound at once.
const VOICES: usize = 2;
/// After this long an address that is taken is tried again.
const AGAIN: Duration = Duration::from_secs(30);

/// What is served.
pub struct Services {
    /// The recogniser of the daemon.
    pub stt: Option<Arc<dyn Stt>>,
    /// What it is called, and its languages, ISO 639-1.
    pub model: String,
    /// The languages that may be asked for.
    pub languages: Vec<String>,
    /// How the person's own speech is recognised.
    pub limits: Limits,
    /// The voice.
    pub voice: Option<Arc<dyn Voice>>,
    /// The loop of the daemon, which answers.
    pub conversation: Option<mpsc::Sender<run::Event>>,
    /// One at a time, because the person may want to be heard next.
    pub hearing: Semaphore,
    /// One at a time, for the same reason.
    pub answering: Semaphore,
    /// A few at a time.
    pub speaking: Semaphore,
    /// How long things may take.
    pub times: Times,
}

impl Services {
    /// What the config wants served. Without the loop of a daemon nobody answers.
    ///
    /// # Errors
    /// When the voice is no command.
    pub fn of(
        config: &Config,
        stt: Arc<dyn Stt>,
        limits: Limits,
        conversation: Option<mpsc::Sender<run::Event>>,
    ) -> anyhow::Result<Services> {
        let wanted = &config.wyoming;
        let voice = match wanted.voice.trim() {
            "" => None,
            command => {
                let voice = CommandVoice::parse(command);
                let voice: Arc<dyn Voice> = Arc::new(voice.context("wyoming.voice in the config")?);
                Some(voice)
            }
        };
        let (model, languages) = model(config);
        Ok(Services {
            stt: wanted.recogniser.then_some(stt),
            model,
            languages,
            limits,
            voice,
            conversation: conversation.filter(|_| wanted.conversation),
            hearing: Semaphore::new(1),
            answering: Semaphore::new(1),
            speaking: Semaphore::new(VOICES),
            times: Times::default(),
        })
    }

    /// What it says that it has.
    pub fn info(&self) -> Event {
        let english = || vec!["en".to_owned()];
        let mut offers = Vec::new();
        if self.stt.is_some() {
            offers.push((Offer::Recogniser, self.model.clone(), self.languages.clone()));
        }
        if let Some(voice) = &self.voice {
            offers.push((Offer::Voice, voice.name(), english()));
        }
        if self.conversation.is_some() {
            offers.push((Offer::Conversation, "tiro".to_owned(), english()));
        }
        describe::info(&offers)
    }
}

/// What the recogniser is called, and the languages that it knows, the configured one first. It is not asked: it would have
/// to be loaded, and who describes itself has a second.
fn model(config: &Config) -> (String, Vec<String>) {
    let stt = &config.stt;
    let name = match (stt.backend, stt.model.file()) {
        (SttBackend::Wyoming, _) => "wyoming".to_owned(),
        (SttBackend::Local, None) => stt.model.as_str().to_owned(),
        (SttBackend::Local, Some(file)) => file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
    };
    // As the files are called everywhere: ggml-tiny.en.bin, ggml-base.en-q5_1.bin.
    let english = name.ends_with(".en") || name.contains(".en-") || name.contains(".en.");
    let mut languages: Vec<String> = match english {
        true => vec!["en".to_owned()],
        false => WHISPER.split_whitespace().map(str::to_owned).collect(),
    };
    if let Some(own) = stt.language.known()
        && let Some(at) = languages.iter().position(|code| code == own)
    {
        languages.swap(0, at);
    }
    (name, languages)
}

/// Where the config wants clients to be served; `None` where it wants none.
///
/// # Errors
/// When others could come in there and the config does not say that they may.
pub fn listens_to(config: &Config) -> anyhow::Result<Option<Place>> {
    let (url, others) = (config.wyoming.listen.as_str(), config.wyoming.allow_others);
    if url.is_empty() {
        return Ok(None);
    }
    let Some(place) = Place::parse(url) else {
        bail!("wyoming.listen is {url:?}, which is no address such as \"tcp://127.0.0.1:10700\"")
    };
    ensure!(
        others || place.is_here(),
        "wyoming.listen is {place}, which other machines reach, and whoever reaches it may ask Tiro about your calendar and \
         your mail: the protocol knows no passwords. Set wyoming.allow_others = true if all of your network may"
    );
    Ok(Some(place))
}

/// Whether others than programs of this machine may come in.
pub fn others_may(config: &Config) -> bool {
    listens_to(config).is_ok_and(|place| place.is_some_and(|place| !place.is_here()))
}

/// A place where clients come in.
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Takes the address. With `others` it may be one that other machines reach.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub async fn bind(place: &Place, others: bool) -> anyhow::Result<Server> {
        let mut addresses = place.addresses().await?;
        // A name is what somebody says that it is.
        addresses.retain(|address| others || address.ip().to_canonical().is_loopback());
        ensure!(!addresses.is_empty(), "{place} is not on this machine");
        let listener = TcpListener::bind(&addresses[..]).await;
        let listener = listener.with_context(|| format!("{place} cannot be listened to"))?;
        Ok(Server { listener })
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves until the future is dropped, and parts with all clients then.
    pub async fn run(self, services: Arc<Services>) {
        let here = Arc::new(Here::default());
        let mut sessions = JoinSet::new();
        loop {
            while sessions.try_join_next().is_some() {}
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, say: waiting is all that helps.
                    tracing::warn!(%error, "a Wyoming client could not connect");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let ip = peer.ip().to_canonical();
            let Some(place) = Here::enter(&here, ip) else {
                tracing::warn!(%ip, "a Wyoming client was turned away: there are too many");
                continue;
            };
            // Fails when it has gone already, which will be noticed.
            let _ = stream.set_nodelay(true);
            let who = match ip.is_loopback() {
                true => "Wyoming client on this computer".to_owned(),
                false => format!("Wyoming client at {ip}"),
            };
            let (ears, mouth) = stream.into_split();
            let session = Session::new(ears, mouth, Arc::clone(&services), who);
            sessions.spawn(async move {
                session.run().await;
                drop(place);
            });
        }
    }
}

/// Who is here, by address.
#[derive(Default)]
struct Here(Mutex<HashMap<IpAddr, usize>>);

/// The place of one client.
struct Entered {
    here: Arc<Here>,
    ip: IpAddr,
}

impl Here {
    fn enter(here: &Arc<Here>, ip: IpAddr) -> Option<Entered> {
        let mut counts = here.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (counts.values().sum::<usize>(), counts.entry(ip).or_default());
        if all >= MAX_CLIENTS || *own >= MAX_OF_ONE {
            return None;
        }
        *own += 1;
        Some(Entered {
            here: Arc::clone(here),
            ip,
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut counts = self.here.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = counts.get_mut(&self.ip) {
            *own = own.saturating_sub(1);
        }
        counts.retain(|_, own| *own > 0);
    }
}

/// What serves clients with the guests' recogniser (`shared`) as long as the daemon runs; `None` where the config wants nobody
/// served.
///
/// # Errors
/// What is wrong with the config.
pub fn serving(
    config: &Config,
    stt: Arc<dyn Stt>,
    limits: Limits,
    events: mpsc::Sender<run::Event>,
) -> anyhow::Result<Option<impl Future<Output = ()> + Send + use<>>> {
    let Some(place) = listens_to(config)? else {
        return Ok(None);
    };
    let services = Services::of(config, stt, limits, Some(events.clone()))?;
    let others = config.wyoming.allow_others;
    Ok(Some(keep_serving(place, others, services, events)))
}

/// Serves as long as the daemon runs. An address that cannot be had is said, and tried again: an interface may come up later.
async fn keep_serving(place: Place, others: bool, services: Services, events: mpsc::Sender<run::Event>) {
    let services = Arc::new(services);
    let notice = async |texts: Vec<String>| {
        let noticed = run::Event::Noticed {
            source: Source::Wyoming,
            texts,
        };
        // Fails only when the daemon is stopping.
        let _ = events.send(noticed).await;
    };
    loop {
        match Server::bind(&place, others).await {
            Ok(server) => {
                notice(Vec::new()).await;
                tracing::info!(%place, "Wyoming clients are served");
                return server.run(services).await;
            }
            Err(error) => {
                notice(vec![format!("Nobody is served over Wyoming: {error:#}.")]).await;
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use models::scripted::ScriptedStt;

    use super::*;

    fn configured(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn nobody_is_served_until_the_config_says_so_and_others_only_when_it_says_so_twice() {
        #[track_caller]
        fn check(text: &str, expect: Result<Option<&str>, &str>) {
            let place = listens_to(&configured(&format!("[wyoming]\n{text}")));
            match (place, expect) {
                (Ok(place), Ok(expect)) => assert_eq!(place.map(|p| p.to_string()).as_deref(), expect),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (got, expect) => panic!("{text}: {got:?} instead of {expect:?}"),
            }
        }
        check("", Ok(None));
        check("allow_others = true", Ok(None));
        check(
            "listen = \"tcp://127.0.0.1:10700\"",
            Ok(Some("tcp://127.0.0.1:10700")),
        );
        check(
            "listen = \"tcp://localhost:10700\"",
            Ok(Some("tcp://localhost:10700")),
        );
        for open in ["0.0.0.0", "[::]", "192.168.1.2", "tower.local"] {
            check(
                &format!("listen = \"tcp://{open}:10700\""),
                Err("wyoming.allow_others"),
            );
            let allowed = format!("listen = \"tcp://{open}:10700\"\nallow_others = true");
            check(&allowed, Ok(Some(&format!("tcp://{open}:10700"))));
            assert!(others_may(&configured(&format!("[wyoming]\n{allowed}"))));
        }
        assert!(!others_may(&Config::default()));
    }

    #[tokio::test]
    async fn an_address_that_is_taken_or_open_is_not_had() {
        let free = Place::parse("tcp://127.0.0.1:1").unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Place::parse(&format!("tcp://{}", taken.local_addr().unwrap())).unwrap();
        let error = format!("{:#}", Server::bind(&place, false).await.err().unwrap());
        assert!(error.contains("cannot be listened to"), "{error}");
        let open = Place::parse("tcp://0.0.0.0:10700").unwrap();
        let error = Server::bind(&open, false).await.err().unwrap().to_string();
        assert!(error.contains("is not on this machine"), "{error}");
        assert!(free.is_here());
    }

    #[test]
    fn one_address_does_not_take_all_places() {
        let here = Arc::new(Here::default());
        let ip = |n: u8| IpAddr::from([10, 0, 0, n]);
        let mut first: Vec<_> = (0..MAX_OF_ONE)
            .map(|_| Here::enter(&here, ip(1)).unwrap())
            .collect();
        assert!(Here::enter(&here, ip(1)).is_none());
        let others: Vec<_> = (0..MAX_CLIENTS - MAX_OF_ONE)
            .map(|n| Here::enter(&here, ip(2 + n as u8)).unwrap())
            .collect();
        assert!(Here::enter(&here, ip(99)).is_none());
        drop(first.pop());
        assert!(Here::enter(&here, ip(1)).is_some());
        drop((first, others));
        assert!(here.0.lock().unwrap().is_empty());
    }

    #[test]
    fn what_is_offered_is_what_the_config_wants() {
        #[track_caller]
        fn check(text: &str, expect: [bool; 3]) -> Services {
            let stt = Arc::new(ScriptedStt::replies::<&str>([]));
            let limits = crate::wyoming::session::tests::limits();
            let (events, _inbox) = mpsc::channel(1);
            let services = Services::of(&configured(text), stt, limits, Some(events)).unwrap();
            let info = services.info();
            let offered = [Offer::Recogniser, Offer::Voice, Offer::Conversation];
            assert_eq!(
                offered.map(|offer| describe::first(&info, offer).is_some()),
                expect,
                "{text}"
            );
            services
        }
        let all = check("", [true; 3]);
        assert_eq!(
            (all.model.as_str(), all.languages[0].as_str(), all.languages.len()),
            ("whisper-base-q8_0", "en", 98)
        );
        check(
            "[wyoming]\nrecogniser = false\nvoice = \"\"",
            [false, false, true],
        );
        check("[wyoming]\nconversation = false", [true, true, false]);
        let german = check("[stt]\nlanguage = \"de\"", [true; 3]);
        assert_eq!((german.languages[0].as_str(), german.languages.len()), ("de", 98));
        let tiny = check("[stt]\nmodel = \"/x/ggml-tiny.en.bin\"", [true; 3]);
        assert_eq!((tiny.model.as_str(), tiny.languages.len()), ("ggml-tiny.en", 1));
        let remote = check("[stt]\nbackend = \"wyoming\"", [true; 3]);
        assert_eq!(remote.model, "wyoming");
        let stt = Arc::new(ScriptedStt::replies::<&str>([]));
        let limits = crate::wyoming::session::tests::limits();
        let wrong = Services::of(&configured("[wyoming]\nvoice = \"a \\\"b\""), stt, limits, None);
        assert!(format!("{:#}", wrong.err().unwrap()).contains("wyoming.voice"));
    }
}
