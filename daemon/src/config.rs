//! The config file: one definition of every key, with its words and its default beside it.
//!
//! The reference, the checks and their messages, `config show` and `config set` are all derived from the
//! structures below (`keys.rs` walks their schema); there is no second list of keys.

mod edit;
mod file;
mod given;
mod keys;
mod values;

pub use edit::set;
pub use file::{Loaded, read};
pub use keys::{Key, keys, reference};
pub use values::{
    AccountName, Day, FilePath, Folder, ImapUrl, Language, MailAddress, ModelUrl, Period, SearchUrl,
    ServerUrl, SmtpUrl, ToolPattern, Weights, WyomingUrl,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{hotkey::Hotkey, listen::wake::phrases::Phrase};

/// A section: documented keys, each with its default.
macro_rules! section {
    ($(#[$about:meta])* $name:ident { $($(#[$words:meta])* $key:ident: $kind:ty = $default:expr,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$words])* pub $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($key: $default,)* }
            }
        }
    };
}

// Behind the macro, which they use.
mod speech;
mod wyoming;
pub use speech::{Speech, SpeechVoice};
pub use wyoming::{SpeechServer, SttBackend, SttServer, Wyoming};

section! {
    /// Everything that the config file can say.
    Config {
        /// The language model.
        llm: Llm = Llm::default(),
        /// The recogniser, which turns speech into text.
        stt: Stt = Stt::default(),
        /// The microphone.
        listen: Listen = Listen::default(),
        /// The words that wake Tiro without a key.
        wake: Wake = Wake::default(),
        /// How Tiro speaks.
        speech: Speech = Speech::default(),
        /// How Tiro shows itself on your desktop.
        desktop: Desktop = Desktop::default(),
        /// What the language model is shown.
        prompt: Prompt = Prompt::default(),
        /// Which tools are offered, and how they are found.
        tools: Tools = Tools::default(),
        /// How a request becomes an answer.
        agent: Agent = Agent::default(),
        /// Asking before acting.
        consent: Consent = Consent::default(),
        /// What "undo that" can take back.
        journal: Journal = Journal::default(),
        /// Your calendars.
        calendar: Calendar = Calendar::default(),
        /// Your reminders.
        reminders: Reminders = Reminders::default(),
        /// Your lists.
        lists: Lists = Lists::default(),
        /// Your alarms.
        alarms: Alarms = Alarms::default(),
        /// How alarms, timers, reminders and the alarms of calendar events ring.
        ring: Ring = Ring::default(),
        /// Your address books.
        contacts: Contacts = Contacts::default(),
        /// Your notes.
        notes: Notes = Notes::default(),
        /// What you told Tiro to remember.
        memory: Memory = Memory::default(),
        /// Your mail.
        mail: Mail = Mail::default(),
        /// Your chats and text messages.
        messages: Messages = Messages::default(),
        /// Servers that hold some of this.
        accounts: Accounts = Accounts::default(),
        /// The programs that Tiro can open.
        applications: Applications = Applications::default(),
        /// Your music and your pictures.
        media: Media = Media::default(),
        /// Your files.
        files: Files = Files::default(),
        /// Your own programs that Tiro can run by name.
        shortcuts: Shortcuts = Shortcuts::default(),
        /// The web, which only your browser ever reaches.
        web: Web = Web::default(),
        /// The weather. It is the only thing that Tiro itself asks for on the internet, and only once you turn it on.
        weather: Weather = Weather::default(),
        /// Tiro for others: Home Assistant, its satellites, and whatever else speaks Wyoming.
        wyoming: Wyoming = Wyoming::default(),
        /// The two programs that run the models.
        engines: Engines = Engines::default(),
        /// Where weights come from.
        models: Models = Models::default(),
        /// What is kept about you, all of it on this machine.
        privacy: Privacy = Privacy::default(),
    }
}

section! {
    /// The language model.
    Llm {
        /// Where it runs: on this machine ("local"), or on one of yours that llm.server names ("server"). A server is told what
        /// you say and what tools find for it.
        backend: Backend = Backend::Local,
        /// An id from `tiro models list`, or the path of any GGUF file.
        model: Weights = Weights::id("qwen2.5-coder-1.5b-instruct-q4_k_m"),
        /// Context window in tokens, that of a server's model, too. A larger one needs more memory.
        #[schemars(range(min = 1024, max = 1_048_576))]
        context: u32 = 32_768,
        /// Threads to compute with; 0 chooses by the machine.
        #[schemars(range(min = 0, max = 512))]
        threads: u32 = 0,
        /// Layers to put on the GPU, at most; -1 puts there what fits into its memory.
        #[schemars(range(min = -1, max = 1000))]
        gpu_layers: i32 = -1,
        /// How the context is stored: "q8_0" needs half the memory and is a little slower.
        kv: Kv = Kv::F16,
        /// Give the memory back after this long without a request; "0s" never does.
        idle_unload: Period = Period::minutes(10),
        /// Whether the model reads about each tool while nobody wants anything, so that the first request for one is quick. That
        /// takes a few minutes, once.
        read_ahead: bool = true,
        /// 0 always takes the likeliest words; higher is more varied and less reliable.
        #[schemars(range(min = 0.0, max = 2.0))]
        temperature: f64 = 0.0,
        /// Longest answer of one step, in tokens.
        #[schemars(range(min = 16, max = 8192))]
        max_tokens: u32 = 512,
        /// Longest time for one step.
        timeout: Period = Period::minutes(2),
        /// A model on a bigger machine, behind OpenAI's chat interface: llama-server, vLLM, Ollama.
        server: LlmServer = LlmServer::default(),
    }
}

section! {
    /// A model on a bigger machine, behind OpenAI's chat interface: llama-server, vLLM, Ollama. Used with llm.backend = "server".
    LlmServer {
        /// Its address, such as "http://192.168.1.20:8080" or "https://llm.example.org/v1"; "/v1" is added to one without a path.
        /// Plain http is for a server on your own machine or network: "localhost", a private address, or a name that is one word or
        /// ends with ".local".
        url: ModelUrl = ModelUrl::default(),
        /// Whether plain http may go anywhere else, too. Everybody on the way can read what you say then.
        allow_http: bool = false,
        /// What the server calls the model; empty takes the first one that it lists.
        #[schemars(length(max = 200))]
        model: String = String::new(),
        /// How long the server may be silent, before its first word and between two.
        timeout: Period = Period::minutes(1),
        /// A command that prints the key, such as "pass show llm", for a server that wants one.
        #[schemars(length(max = 2000))]
        key_command: String = String::new(),
        /// A file with the key, which nobody but you may read.
        key_file: FilePath = FilePath::default(),
        /// Whether the Secret Service (on macOS the keychain) has the key, by the attributes service = "tiro" and account = "llm".
        keyring: bool = false,
    }
}

section! {
    /// The recogniser, which turns speech into text.
    Stt {
        /// Where it runs: on this machine ("local"), or on one of yours that stt.server names ("wyoming"). A server hears your
        /// voice.
        backend: SttBackend = SttBackend::Local,
        /// An id from `tiro models list`, or the path of any whisper.cpp model file.
        model: Weights = Weights::id("whisper-base-q8_0"),
        /// The language that you speak; "auto" recognises it, which takes longer.
        language: Language = Language::code("en"),
        /// Threads to compute with; 0 chooses by the machine.
        #[schemars(range(min = 0, max = 512))]
        threads: u32 = 0,
        /// Give the memory back after this long without speech; "0s" never does.
        idle_unload: Period = Period::minutes(10),
        /// Whether the names of your contacts, calendars, lists and programs are expected in what you say, so that they are spelt as
        /// you spell them. A recogniser on another machine is not told them.
        names: bool = true,
        /// Text that the recogniser takes to stand before what you say, such as "Kubernetes, kubectl".
        #[schemars(length(max = 500))]
        prompt: String = String::new(),
        /// Longest time for one recording.
        timeout: Period = Period::minutes(5),
        /// A recogniser on a bigger machine, behind the Wyoming protocol, as Home Assistant's are.
        server: SttServer = SttServer::default(),
    }
}

section! {
    /// The microphone.
    Listen {
        /// Its name, as `tiro doctor` shows it; empty means the one that is chosen on your desktop.
        #[schemars(length(max = 200))]
        device: String = String::new(),
        /// The key to talk, whatever window is in front: hold it while you speak, or tap it and be silent when you have
        /// finished. Your desktop may give Tiro another key.
        key: Hotkey = Hotkey::usual(),
        /// How long you are silent, in milliseconds, before Tiro takes it that you have finished. A key that is held does not
        /// use this.
        #[schemars(range(min = 200, max = 5000))]
        silence_ms: u32 = 800,
        /// How many seconds Tiro waits for you to begin.
        #[schemars(range(min = 1, max = 60))]
        patience_seconds: u32 = 8,
        /// How many seconds you may speak at once; 30 at most where you press no key.
        #[schemars(range(min = 5, max = 600))]
        max_seconds: u32 = 60,
        /// Whether what you say is recognised while you still speak: the answer comes sooner, and the processor has more to do.
        early: bool = true,
    }
}

section! {
    /// The words that wake Tiro without a key.
    Wake {
        /// Whether the microphone stays open and Tiro listens for them, if there are any. What is said without them is forgotten at
        /// once.
        enabled: bool = false,
        /// The words; any will do that you seldom begin a sentence with. Two or three syllables at least are heard best.
        #[schemars(length(max = 8))]
        phrases: Vec<Phrase> = Phrase::usual(),
        /// How much is taken for them, from 0 to 1: more wakes Tiro more often when you say them, and when you do not.
        /// `tiro wake test` shows what is heard.
        #[schemars(range(min = 0.0, max = 1.0))]
        sensitivity: f64 = 0.5,
        /// For how many seconds Tiro is not woken again.
        #[schemars(range(min = 0.0, max = 60.0))]
        refractory_seconds: f64 = 2.0,
        /// How many seconds you may go on without them when Tiro has answered you; 0 is never.
        #[schemars(range(min = 0, max = 60))]
        follow_up_seconds: u32 = 6,
    }
}

section! {
    /// How Tiro shows itself on your desktop.
    Desktop {
        /// Whether there is an icon in the bar, with a menu.
        icon: bool = true,
    }
}

section! {
    /// What the language model is shown.
    Prompt {
        /// Where schemas found during a conversation go: after it ("tail") or before it ("system").
        discovered: Discovered = Discovered::Tail,
        /// Whether the catalogue says a few words on each tool, or only its name.
        catalog_summaries: bool = false,
        /// Tokens that the catalogue may take, roughly. Over that the largest domains say less: first no summaries, then one
        /// line for all their tools; over four times that, only how many. 0 means that it may take as many as it needs.
        #[schemars(range(min = 0, max = 100_000))]
        catalog_tokens: u32 = crate::agent::CATALOG_TOKENS,
        /// Tokens that prompt and answer may take together; 0 means all of llm.context.
        #[schemars(range(min = 0, max = 1_048_576))]
        budget: u32 = 0,
    }
}

section! {
    /// Which tools are offered, and how they are found.
    Tools {
        /// "lazy" shows the model most tools only when they are needed; "eager" shows all from the start.
        loading: Loading = Loading::Lazy,
        /// Tools to show from the start although they are usually not, such as ["media.pause"].
        #[schemars(length(max = 200))]
        core: Vec<String> = Vec::new(),
        /// Tools to show only when needed although they are usually shown from the start.
        #[schemars(length(max = 200))]
        deferred: Vec<String> = Vec::new(),
        /// How many tools one search may load.
        #[schemars(range(min = 1, max = 20))]
        top_k: u32 = 3,
        /// How sure a search must be of a tool, from 0 to 1.
        #[schemars(range(min = 0.0, max = 1.0))]
        min_score: f64 = 0.10,
        /// Whether what you say is searched with before the model is asked.
        pre_discover: bool = true,
        /// How sure that search must be of a tool before the model is shown it.
        #[schemars(range(min = 0.0, max = 1.0))]
        show_score: f64 = 0.15,
        /// Whether a small encoder of sentences gives a second opinion on what that search is not sure of, if it is there
        /// ("all-minilm-l6-v2" of `tiro models list`). It reads English.
        reader: bool = true,
        /// How sure it must be before the model has to use a tool and may not answer in words; 1 never insists.
        #[schemars(range(min = 0.0, max = 1.0))]
        act_score: f64 = 0.31,
        /// How much that search counts beside the model when several tools fit; 0 leaves it to the model.
        #[schemars(range(min = 0.0, max = 100.0))]
        rank_weight: f64 = 2.0,
        /// How many tools one request may use.
        #[schemars(range(min = 1, max = 20))]
        max_calls: u32 = 3,
        /// Whether a search loads what it finds; false makes that two steps, a search and then a name.
        auto_load: bool = true,
        /// How long tools that were found stay loaded: "session" until the conversation is over, "context" until they are
        /// unloaded, across restarts, too.
        storage: Storage = Storage::Session,
        /// With "session", a tool is unloaded after this long without being used; "0s" leaves that to the end of the conversation.
        ttl: Period = Period::minutes(30),
        /// Tokens that the tools found so far may take together; over that those are unloaded that were not used for
        /// longest; 0 means that there is no limit.
        #[schemars(range(min = 0, max = 1_048_576))]
        loaded_tokens: u32 = 1500,
        /// How many searches of a conversation are remembered.
        #[schemars(range(min = 0, max = 10_000))]
        searches: u32 = 32,
        /// Which tools a request may not use. Each is a table of its own that begins with [[tools.rules]].
        #[schemars(length(max = 100))]
        rules: Vec<ToolRule> = Vec::new(),
        /// How many searches for tools one request may make.
        #[schemars(range(min = 0, max = 3))]
        max_discover: u32 = 3,
    }
}

section! {
    /// Keeps tools from requests. When it cannot be told whether it holds, it does.
    ToolRule {
        /// The tools: their names, "mail.*" for a whole domain, "*" for all.
        #[schemars(length(max = 200))]
        deny: Vec<ToolPattern> = Vec::new(),
        /// When: always, for spoken or for typed requests, while words of others are in the conversation, while the screen is
        /// locked, or for guests: programs on the session bus and whoever asks over Wyoming.
        when: RuleWhen = RuleWhen::Always,
        /// Where: when tools are searched, when they are loaded, when they are called; an empty list means all three.
        #[schemars(length(max = 3))]
        phases: Vec<RulePhase> = Vec::new(),
    }
}

section! {
    /// How a request becomes an answer.
    Agent {
        /// Who words the answer: the tool, from what it found ("tool"), or the model, which takes longer ("model"); of the
        /// model's words only those are told that say no more than what was found or done, else the tool's.
        answer: Answer = Answer::Tool,
        /// What happens when no tool surely fits: Tiro asks whether the likeliest is meant ("ask"), or the model decides what
        /// to do and may answer by itself ("model"), which small models do badly; without a call it may talk, but not claim that
        /// something was done or how your things are.
        unsure: Unsure = Unsure::Ask,
        /// Whether requests that are a tool's own pattern to the word ("set a timer for ten minutes", "pause") are carried out
        /// at once, without asking the model.
        reflex: bool = true,
    }
}

section! {
    /// Asking before acting.
    Consent {
        /// How long a question waits for you; after that it counts as no.
        timeout: Period = Period::minutes(1),
    }
}

section! {
    /// What "undo that" can take back.
    Journal {
        /// How long each change can be undone; older ones are forgotten.
        retention: Period = Period::days(90),
        /// The contents that are kept for undoing, in MiB; when there are more the oldest go first.
        #[schemars(range(min = 1, max = 65_536))]
        max_mib: u32 = 256,
    }
}

section! {
    /// Your calendars.
    Calendar {
        /// Folder with one folder a calendar, each event an .ics file.
        dir: Folder = Folder::default(),
        /// The hour at which your working day begins.
        #[schemars(range(min = 0, max = 23))]
        work_from: u32 = 9,
        /// The hour at which it is over; after work_from.
        #[schemars(range(min = 1, max = 24))]
        work_to: u32 = 17,
        /// Your working days, such as ["monday", "saturday"]; none means Monday to Friday.
        #[schemars(length(max = 7))]
        work_days: Vec<Day> = Vec::new(),
    }
}

section! {
    /// Your reminders.
    Reminders {
        /// Folder with one folder a list, each reminder an .ics file.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// Your lists.
    Lists {
        /// Folder with one folder a list (shopping, packing), each entry an .ics file.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// Your alarms.
    Alarms {
        /// Folder with one .ics file an alarm.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// How alarms, timers, reminders and the alarms of calendar events ring.
    Ring {
        /// Whether there is a sound; a notification is shown in any case.
        sound: bool = true,
        /// How loud, from 0 to 1.
        #[schemars(range(min = 0.0, max = 1.0))]
        volume: f64 = 0.6,
        /// How long an alarm or a timer sounds each time unless you stop it.
        length: Period = Period::seconds(20),
        /// How long a snooze is when you do not say.
        snooze: Period = Period::minutes(9),
        /// After how long an alarm or a timer rings again that nobody answers.
        again: Period = Period::minutes(3),
        /// How many times it rings in all.
        #[schemars(range(min = 1, max = 20))]
        times: u32 = 3,
    }
}

section! {
    /// Your address books.
    Contacts {
        /// Folder with one folder an address book, each contact a .vcf file.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// Your notes.
    Notes {
        /// Folder with Markdown files.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// What you told Tiro to remember.
    Memory {
        /// Folder with one Markdown file a fact.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// Your mail.
    Mail {
        /// A Maildir. Accounts with an IMAP server get Maildirs of their own below it, in the folder "accounts".
        dir: Folder = Folder::default(),
        /// How long a mail that you confirmed waits before it goes out, so that "undo that" can take it back.
        recall: Period = Period::seconds(10),
    }
}

section! {
    /// Servers that hold some of this.
    Accounts {
        /// Calendars, to-do lists and address books on servers (CalDAV and CardDAV), kept in step with folders here.
        /// Each is a table of its own that begins with [[accounts.dav]].
        #[schemars(length(max = 20))]
        dav: Vec<DavAccount> = Vec::new(),
        /// Mail on servers (IMAP and SMTP). Each is a table of its own that begins with [[accounts.mail]]; the first one
        /// that can send does so when you do not say which.
        #[schemars(length(max = 20))]
        mail: Vec<MailAccount> = Vec::new(),
    }
}

section! {
    /// One CalDAV or CardDAV account. Without a command or a file for the password, the Secret Service (on macOS the
    /// keychain) is asked for it, by the attributes service = "tiro" and account = the name.
    DavAccount {
        /// What you call it.
        name: AccountName = AccountName::default(),
        /// Where the server is. Plain http is for a server on your own machine or network: "localhost", a private
        /// address, or a name that is one word or ends with ".local".
        url: ServerUrl = ServerUrl::default(),
        /// Whether plain http may go anywhere else, too. Everybody on the way can read the password then.
        allow_http: bool = false,
        /// Your name on the server.
        #[schemars(length(max = 500))]
        user: String = String::new(),
        /// A command that prints the password, such as "pass show dav".
        #[schemars(length(max = 2000))]
        password_command: String = String::new(),
        /// A file with the password, which nobody but you may read.
        password_file: FilePath = FilePath::default(),
        /// A command that prints an access token, for servers that take one instead of a name and a password.
        #[schemars(length(max = 2000))]
        token_command: String = String::new(),
        /// Whether calendars and to-do lists are kept in step.
        calendars: bool = true,
        /// Whether address books are kept in step.
        contacts: bool = true,
        /// Names of the calendars and address books to keep in step; an empty list means all.
        #[schemars(length(max = 100))]
        collections: Vec<String> = Vec::new(),
        /// How often the server is asked; "0s" leaves that to `tiro sync`.
        interval: Period = Period::minutes(15),
    }
}

section! {
    /// One mail account. Without a command or a file for the password, the Secret Service (on macOS the keychain) is asked
    /// for it, by the attributes service = "tiro" and account = the name.
    MailAccount {
        /// What you call it.
        name: AccountName = AccountName::default(),
        /// Your address.
        address: MailAddress = MailAddress::default(),
        /// Your name as recipients see it.
        #[schemars(length(max = 200))]
        sender: String = String::new(),
        /// The server that has your mail; empty when another program fetches it.
        imap: ImapUrl = ImapUrl::default(),
        /// The server that sends your mail; empty when this account only reads.
        smtp: SmtpUrl = SmtpUrl::default(),
        /// Whether the password may go unencrypted to a server on another machine. Everybody on the way can read it then.
        allow_plain: bool = false,
        /// A file with certificates (PEM) to trust besides those of the system, for a server of your own.
        certificates: FilePath = FilePath::default(),
        /// Your name on the servers; empty means your address.
        #[schemars(length(max = 500))]
        user: String = String::new(),
        /// A command that prints the password, such as "pass show mail".
        #[schemars(length(max = 2000))]
        password_command: String = String::new(),
        /// A file with the password, which nobody but you may read.
        password_file: FilePath = FilePath::default(),
        /// A command that prints an OAuth2 access token, for servers that take one instead of a password.
        #[schemars(length(max = 2000))]
        token_command: String = String::new(),
        /// Whether a copy of what you send is put among the sent mail; false when the server does that by itself.
        save_sent: bool = true,
        /// The newest so many messages of each folder are kept here.
        #[schemars(range(min = 10, max = 20_000))]
        messages: u32 = 5000,
        /// Larger messages stay on the server, in MiB.
        #[schemars(range(min = 1, max = 100))]
        max_mib: u32 = 36,
        /// How often the server is asked, besides when it says that something came; "0s" leaves that to `tiro sync`.
        interval: Period = Period::minutes(10),
    }
}

section! {
    /// Your chats and text messages.
    Messages {
        /// The number of the Signal account that sends, where signal-cli has several, such as "+49 171 2345678".
        #[schemars(length(max = 40))]
        signal: String = String::new(),
    }
}

section! {
    /// The programs that Tiro can open.
    Applications {
        /// Folders with desktop entries, nearest first; an empty list means those of the system.
        #[schemars(length(max = 50))]
        dirs: Vec<Folder> = Vec::new(),
        /// The command that opens a file or a web address with its program, such as "xdg-open"; empty finds one.
        #[schemars(length(max = 500))]
        opener: String = String::new(),
    }
}

section! {
    /// Your files.
    Files {
        /// Folders that Tiro may search, read and change, with all below them; none means your documents, downloads,
        /// desktop, music, pictures and videos.
        #[schemars(length(max = 50))]
        dirs: Vec<Folder> = Vec::new(),
    }
}

section! {
    /// Your own programs that Tiro can run by name.
    Shortcuts {
        /// Folder with executable files that only you can change; the line "# tiro: ..." in each says what it does.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// The web, which only your browser ever reaches.
    Web {
        /// Where your browser searches; {} stands for the words.
        search_url: SearchUrl = SearchUrl::default(),
    }
}

section! {
    /// The weather. It is the only thing that Tiro itself asks for on the internet, and only once you turn it on.
    Weather {
        /// Whether the service may be asked. It learns the place that you ask about.
        enabled: bool = false,
        /// Where you are, such as "Berlin".
        #[schemars(length(max = 80))]
        place: String = String::new(),
        /// Degrees north of that place; with both set to 0 the service is asked where it is.
        #[schemars(range(min = -90.0, max = 90.0))]
        latitude: f64 = 0.0,
        /// Degrees east of it.
        #[schemars(range(min = -180.0, max = 180.0))]
        longitude: f64 = 0.0,
        /// Whether degrees are Fahrenheit and winds in miles an hour.
        imperial: bool = false,
        /// A service that answers as Open-Meteo does.
        url: ServerUrl = ServerUrl::known("https://api.open-meteo.com/v1/forecast"),
        /// One that knows where places are.
        places_url: ServerUrl = ServerUrl::known("https://geocoding-api.open-meteo.com/v1/search"),
    }
}

section! {
    /// Your music and your pictures.
    Media {
        /// Folder with your music; empty means that of your desktop.
        music: Folder = Folder::default(),
        /// Folder for pictures of the screen; empty means that of your desktop.
        pictures: Folder = Folder::default(),
    }
}

section! {
    /// The two programs that run the models.
    Engines {
        /// Folder with `tiro-llm` and `tiro-stt`; empty looks beside `tiro` itself.
        dir: Folder = Folder::default(),
    }
}

section! {
    /// Where weights come from.
    Models {
        /// Names of sources to try, in this order; an empty list means all that a model has.
        #[schemars(length(max = 20))]
        sources: Vec<String> = Vec::new(),
    }
}

section! {
    /// What is kept about you, all of it on this machine.
    Privacy {
        /// Whether to keep a trace of each request with its words, to find out what went wrong.
        trace: bool = false,
        /// How long traces and the history are kept.
        retention: Period = Period::days(90),
    }
}

/// Where the model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Backend {
    Local,
    Server,
}

/// How the KV cache is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the names are ggml's types; a doc comment would change the schema's shape"
)]
pub enum Kv {
    F16,
    #[serde(rename = "q8_0")]
    Q8,
}

/// Where discovered schemas go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Discovered {
    Tail,
    System,
}

/// How tools are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Loading {
    Lazy,
    Eager,
}

/// How long tools stay loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Storage {
    Session,
    Context,
}

/// When a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain them")]
pub enum RuleWhen {
    Always,
    Voice,
    Typed,
    Tainted,
    Locked,
    Guest,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain them")]
pub enum RulePhase {
    Search,
    Load,
    Active,
}

/// Who words the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Answer {
    Tool,
    Model,
}

/// What happens when no tool surely fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's own words explain both")]
pub enum Unsure {
    Ask,
    Model,
}

impl Config {
    /// Reads the config file; without one, every key has its default.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or anything in it is wrong: all problems at once, each with
    /// its line, what was given and what is allowed.
    pub fn load(path: &std::path::Path) -> anyhow::Result<Config> {
        read(path).map(|loaded| loaded.config)
    }
}
