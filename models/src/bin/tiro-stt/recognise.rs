//! Speech to text with whisper.cpp: a window no longer than the clip, a second look when the first was doubtful,
//! and nothing that nobody said.

use std::time::Instant;

use models::{
    EngineError,
    decode::{Transcribing, Vocabulary},
    expected::Expected,
    ggml_whisper,
    ghosts::{self, seen::Seen},
    machine, nativelog,
    protocol::{SttDialect, SttLoad},
    serve::Reply,
    stt::{self, MARGIN, SAMPLE_RATE, Segment, SttInfo, Transcribe, Transcript, WHOLE},
};
use whisper_rs::{
    FullParams, SamplingStrategy, SegmentCallbackData, WhisperContext, WhisperContextParameters, WhisperState,
};

/// The version of the binding in Cargo.toml.
const BINDING: &str = "whisper-rs 0.16.0";

/// Encoder positions beyond the end of the clip, first look and second.
const MARGINS: [u32; 2] = [MARGIN, 256];
/// Seconds below which whisper.cpp refuses to look.
const SHORTEST: f32 = 0.1;
/// Loudest sample of a clip that holds nothing at all.
const SILENCE: f32 = 1e-3;

/// A token of a model no wider than this (base) is too little work to be shared: on 2 cores it takes 2.4 ms on one thread and on
/// two when nothing else runs, and three times as long on two when the threads have to wait for a processor.
const NARROW: i32 = 512;

/// A loaded model at work.
pub(crate) struct Recogniser {
    pub(crate) info: SttInfo,
    context: WhisperContext,
    state: WhisperState,
    vocabulary: Vocabulary,
    /// Threads of the encoder, and of the decoder.
    threads: u32,
    decoding: u32,
}

/// What is wanted of a clip.
struct Wanted<'a> {
    samples: &'a [f32],
    language: &'a str,
    prompt: &'a str,
    expected: Expected,
}

impl Wanted<'_> {
    fn seconds(&self) -> f32 {
        self.samples.len() as f32 / SAMPLE_RATE as f32
    }

    /// Nobody speaks eight tokens a second; a loop would go on for hundreds.
    fn most_tokens(&self) -> usize {
        (self.seconds() * 8.0) as usize + 24
    }
}

/// How one look at the clip goes.
struct Look {
    /// Encoder positions; 0 is all.
    audio_ctx: u32,
    /// Segments with times, and further windows for what does not fit one.
    windows: bool,
    /// Whether a doubtful stretch is tried again with more chance.
    fallback: bool,
}

impl Look {
    /// Whether tokens are chosen here and not by whisper.cpp: only what fits one window, goes on from no text and is not tried again
    /// with more chance is.
    fn own(&self, prompt: &str) -> bool {
        !self.windows && !self.fallback && prompt.is_empty()
    }
}

impl Recogniser {
    /// Loads; also gives the milliseconds that it took.
    ///
    /// # Errors
    /// `NoModel`, `BadModel` with what is wrong, `TooLittleMemory`.
    pub(crate) fn load(load: &SttLoad, sandbox: &str) -> Result<(Recogniser, f32), EngineError> {
        let start = Instant::now();
        let path = &load.path;
        if !path.exists() {
            return Err(EngineError::NoModel { path: path.clone() });
        }
        let bad = |reason: String| EngineError::BadModel {
            path: path.clone(),
            reason,
        };
        let header = ggml_whisper::inspect(path).map_err(|e| bad(e.to_string()))?;
        // Working buffers grow with the model: about half its size, and never under a hundred megabytes.
        let needed = header.bytes + (header.bytes / 2).max(100 << 20);
        if let Some(free) = machine::available_memory()
            && needed > free
        {
            return Err(EngineError::TooLittleMemory {
                path: path.clone(),
                needed_mib: needed >> 20,
                free_mib: free >> 20,
            });
        }
        let mut params = WhisperContextParameters::default();
        // Flash attention in whisper.cpp reads its padding to 256 positions, which holds the clip before this one
        // once windows differ in length.
        params.use_gpu(load.gpu).flash_attn(false);
        drop((nativelog::take_last_error(), nativelog::take_gpu()));
        let loaded = WhisperContext::new_with_params(path, params)
            .and_then(|context| Ok((context.create_state()?, vocabulary(&context)?, context)));
        let (state, vocabulary, context) = loaded.map_err(|e| {
            bad(format!(
                "{}.",
                nativelog::take_last_error().unwrap_or(e.to_string())
            ))
        })?;
        let threads = load.threads.unwrap_or_else(machine::cores).max(1);
        let info = SttInfo {
            name: header.name,
            multilingual: header.multilingual,
            bytes: header.bytes,
            device: device(nativelog::take_gpu(), threads),
            sandbox: sandbox.to_owned(),
            binding: BINDING.into(),
        };
        let decoding = if context.model_n_text_state() <= NARROW {
            1
        } else {
            threads
        };
        Ok((
            Recogniser {
                info,
                context,
                state,
                vocabulary,
                threads,
                decoding,
            },
            millis(start),
        ))
    }

    /// Recognises one clip.
    ///
    /// # Errors
    /// `Refused` for an unknown language, `Cancelled`.
    pub(crate) fn transcribe(
        &mut self,
        request: &Transcribe,
        reply: &Reply<SttDialect>,
    ) -> Result<Transcript, EngineError> {
        let start = Instant::now();
        let samples: Vec<f32> = request.samples.iter().map(|s| clean(*s)).collect();
        let seconds = samples.len() as f32 / SAMPLE_RATE as f32;
        if let Some(code) = request.language.as_deref()
            && whisper_rs::get_lang_id(&code.replace('\0', "")).is_none()
        {
            return Err(EngineError::Refused(format!(
                "The recogniser knows no language {code:?}."
            )));
        }
        let mut transcript = Transcript {
            language: request.language.clone().unwrap_or_else(|| "en".into()),
            ..Transcript::default()
        };
        if seconds < SHORTEST || samples.iter().all(|s| s.abs() < SILENCE) {
            return Ok(transcript);
        }

        let prompt = request.prompt.as_deref().unwrap_or_default();
        let looks = looks(samples.len(), request.audio_ctx, prompt);
        let language = self.language(request, &samples, &looks[0], reply)?;
        let wanted = Wanted {
            samples: &samples,
            language: &language,
            prompt,
            expected: Expected::of(request.names.iter().map(String::as_str)),
        };
        let mut seen = self.look(&looks[0], &wanted, reply)?;
        for look in &looks[1..] {
            if !seen.doubtful() {
                break;
            }
            // Encoding cannot be stopped, so nobody is to begin it for nothing.
            if reply.cancelled() {
                return Err(EngineError::Cancelled);
            }
            transcript.retried = true;
            let again = self.look(look, &wanted, reply)?;
            let agreed = seen.agrees(&again);
            seen = seen.or(again);
            if agreed {
                break;
            }
        }
        if !looks[0].windows {
            // Segments of one window are certain only now; those of several were sent as they came.
            seen.segments
                .iter()
                .for_each(|segment| reply.part(segment.clone()));
        }
        transcript.text = seen.text();
        transcript.segments = seen.segments;
        transcript.language = language;
        transcript.decode_ms = millis(start);
        Ok(transcript)
    }

    /// The language of the request, else what the clip sounds like.
    fn language(
        &mut self,
        request: &Transcribe,
        samples: &[f32],
        look: &Look,
        reply: &Reply<SttDialect>,
    ) -> Result<String, EngineError> {
        match &request.language {
            _ if !self.info.multilingual => return Ok("en".into()),
            Some(code) => return Ok(code.clone()),
            None => {}
        }
        // whisper.cpp detects with the window of the request before.
        let any = Wanted {
            samples,
            language: "en",
            prompt: "",
            expected: Expected::default(),
        };
        self.open(look, &any, reply)?;
        let detected = self
            .state
            .lang_detect(0, threads(self.threads))
            .map_err(|e| failed(&e, reply))?;
        Ok(whisper_rs::get_lang_str(detected.0).unwrap_or("en").to_owned())
    }

    fn look(
        &mut self,
        look: &Look,
        wanted: &Wanted<'_>,
        reply: &Reply<SttDialect>,
    ) -> Result<Seen, EngineError> {
        let seen = if look.own(wanted.prompt) {
            self.glance(look, wanted, reply)?
        } else {
            let mut params = self.params(look, wanted, reply);
            if look.windows {
                let (send, prompt) = (reply.sender(), wanted.prompt.to_owned());
                params.set_segment_callback_safe_lossy(move |data: SegmentCallbackData| {
                    send_if_said(&data, &prompt, &send);
                });
            }
            self.full(params, wanted.samples, reply)?;
            let mut seen = self.seen(wanted);
            if look.fallback && !look.windows && wanted.prompt.is_empty() {
                // More chance makes whisper.cpp surer by its numbers: it divides the scores before it takes their logarithms.
                seen.sureness = self.judged(wanted).map_err(|error| failed(&error, reply))?;
                tracing::debug!(sureness = seen.sureness, "judged");
            }
            seen
        };
        // Of several windows only the last could be asked, and segments are sent by then.
        if look.windows || !seen.suspicious() {
            return Ok(seen);
        }
        let silence = self.silence().map_err(|error| failed(&error, reply))?;
        tracing::debug!(silence, "asked");
        Ok(seen.unless_silent(silence))
    }

    /// The probability that nobody speaks in the window that was looked at: what the model would write in front of everything else.
    /// That is one step of the decoder, and only after a result that may be none: the scores of the first of several tokens, as a
    /// transcript in a known language begins with, cannot be had.
    fn silence(&mut self) -> Result<f32, whisper_rs::WhisperError> {
        let start = [self.context.token_sot()];
        self.state.decode(&start, 0, threads(self.decoding))?;
        let none = usize::try_from(self.context.token_nosp()).unwrap_or(usize::MAX);
        Ok(probability(self.state.get_logits()?, none))
    }

    /// How sure the model is of what whisper.cpp wrote, without any chance: the mean logarithm of the probabilities of its text.
    fn judged(&mut self, wanted: &Wanted<'_>) -> Result<f32, whisper_rs::WhisperError> {
        let mut tokens: Vec<i32> = Vec::new();
        for segment in self.state.as_iter() {
            let all = (0..segment.n_tokens()).filter_map(|i| segment.get_token(i));
            tokens.extend(all.map(|token| token.token_id()));
        }
        let (opening, decoding) = (self.opening(wanted), threads(self.decoding));
        self.state.decode(&opening, 0, decoding)?;
        let (mut sum, mut count) = (0.0, 0.0_f32);
        for (past, pair) in (opening.len()..).zip(tokens.windows(2)) {
            self.state.decode(&pair[..1], past, decoding)?;
            if pair[1] < self.context.token_eot() {
                let token = usize::try_from(pair[1]).unwrap_or(usize::MAX);
                sum += probability(self.state.get_logits()?, token)
                    .max(f32::MIN_POSITIVE)
                    .ln();
                count += 1.0;
            }
        }
        Ok(if count > 0.0 { sum / count } else { 0.0 })
    }

    /// Looks at a clip that fits one window, and chooses token by token.
    fn glance(
        &mut self,
        look: &Look,
        wanted: &Wanted<'_>,
        reply: &Reply<SttDialect>,
    ) -> Result<Seen, EngineError> {
        self.open(look, wanted, reply)?;
        let (encoding, decoding) = (threads(self.threads), threads(self.decoding));
        let native = |error| failed(&error, reply);
        self.state.encode(0, encoding).map_err(native)?;
        let opening = self.opening(wanted);
        self.state.decode(&opening, 0, decoding).map_err(native)?;
        let room = usize::try_from(self.context.n_text_ctx()).unwrap_or(0);
        let most = wanted.most_tokens().min(room.saturating_sub(opening.len() + 1));
        let seconds = wanted.seconds();
        let mut transcribing = Transcribing::new(&self.vocabulary, &wanted.expected, seconds, most);
        let mut past = opening.len();
        while !transcribing.over() {
            if reply.cancelled() {
                return Err(EngineError::Cancelled);
            }
            let last = i32::try_from(transcribing.last()).unwrap_or(0);
            // Of several tokens only the scores of the last can be had, and not from where they are looked for.
            self.state.decode(&[last], past, decoding).map_err(native)?;
            transcribing.next(self.state.get_logits().map_err(native)?);
            past += 1;
        }
        let text = said(&transcribing.text(), wanted.prompt);
        let sureness = transcribing.sureness();
        tracing::debug!(sureness, tokens = past - opening.len(), "looked");
        let segment = Segment {
            start: 0.0,
            end: transcribing.reached().unwrap_or(seconds).min(seconds),
            text,
        };
        let segments = Some(segment).filter(|segment| !segment.text.is_empty());
        Ok(Seen {
            segments: segments.into_iter().collect(),
            sureness,
        })
    }

    /// Sets the window and brings the sound to it. There is no other way to the window than through a whole recognition, but one
    /// of a tenth of a second ends behind that.
    fn open(
        &mut self,
        look: &Look,
        wanted: &Wanted<'_>,
        reply: &Reply<SttDialect>,
    ) -> Result<(), EngineError> {
        let mut params = self.params(look, wanted, reply);
        params.set_duration_ms(100);
        self.full(params, wanted.samples, reply)
    }

    /// What stands in front of a transcript: the language, and what is to be done.
    fn opening(&self, wanted: &Wanted<'_>) -> Vec<i32> {
        let context = &self.context;
        let mut opening = vec![context.token_sot()];
        if self.info.multilingual {
            let language = whisper_rs::get_lang_id(wanted.language).unwrap_or(0);
            opening.extend([context.token_lang(language), context.token_transcribe()]);
        }
        opening
    }

    fn params<'a>(
        &self,
        look: &Look,
        wanted: &Wanted<'a>,
        reply: &Reply<SttDialect>,
    ) -> FullParams<'a, 'static> {
        let mut params = FullParams::new(SamplingStrategy::Greedy { best_of: 1 });
        params.set_n_threads(i32::try_from(self.threads).unwrap_or(1));
        params.set_language(Some(wanted.language));
        params.set_audio_ctx(i32::try_from(look.audio_ctx.min(WHOLE)).unwrap_or(0));
        params.set_no_context(true);
        params.set_single_segment(!look.windows);
        if !look.windows {
            params.set_max_tokens(i32::try_from(wanted.most_tokens()).unwrap_or(i32::MAX));
        }
        params.set_temperature_inc(if look.fallback { 0.2 } else { 0.0 });
        params.set_print_special(false);
        params.set_print_progress(false);
        params.set_print_realtime(false);
        params.set_print_timestamps(false);
        if !wanted.prompt.is_empty() {
            params.set_initial_prompt(&wanted.prompt.replace('\0', " "));
        }
        // The type is spelt out because the binding hands C a pointer to this very type whatever it is given.
        // It never frees the closure: a few dozen bytes a request, gone when the engine idles out.
        params.set_abort_callback_safe::<_, Box<dyn FnMut() -> bool>>(
            Box::new(reply.cancel_flag()) as Box<dyn FnMut() -> bool>
        );
        params
    }

    fn full(
        &mut self,
        params: FullParams<'_, '_>,
        samples: &[f32],
        reply: &Reply<SttDialect>,
    ) -> Result<(), EngineError> {
        self.state.full(params, samples).map_err(|e| failed(&e, reply))
    }

    fn seen(&self, wanted: &Wanted<'_>) -> Seen {
        let (special, seconds) = (self.context.token_eot(), wanted.seconds());
        let (mut sum, mut count) = (0.0, 0.0_f32);
        let mut segments = Vec::new();
        for segment in self.state.as_iter() {
            for i in 0..segment.n_tokens() {
                if let Some(token) = segment.get_token(i)
                    && token.token_id() < special
                {
                    sum += token.token_data().plog;
                    count += 1.0;
                }
            }
            let text = segment.to_str_lossy().unwrap_or_default();
            let text = said(&text, wanted.prompt);
            if !text.is_empty() {
                segments.push(Segment {
                    start: centiseconds(segment.start_timestamp()).min(seconds),
                    end: centiseconds(segment.end_timestamp()).min(seconds),
                    text,
                });
            }
        }
        let sureness = if count > 0.0 { sum / count } else { 0.0 };
        tracing::debug!(sureness, count, segments = segments.len(), "looked");
        Seen { segments, sureness }
    }
}

/// The probability of one token by the scores of all; 0 for one that is none.
fn probability(scores: &[f32], token: usize) -> f32 {
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let all: f32 = scores.iter().map(|score| (score - top).exp()).sum();
    scores.get(token).map_or(0.0, |score| (score - top).exp() / all)
}

/// How to look at a clip: first with a narrow window, while the result is doubtful with wider ones, and in the end with more chance.
/// Chance is last, because names are not weighed there.
fn looks(samples: usize, wanted: Option<u32>, prompt: &str) -> Vec<Look> {
    let windows = stt::fills_the_window(samples);
    let last = Look {
        audio_ctx: 0,
        windows,
        fallback: true,
    };
    let one = |audio_ctx| Look {
        audio_ctx,
        windows: false,
        fallback: false,
    };
    // Where whisper.cpp chooses, its fallback begins with the same look.
    let whole = Some(one(0)).filter(|look| !windows && look.own(prompt));
    let whole = whole.into_iter().chain([last]);
    match wanted {
        Some(audio_ctx) if (1..WHOLE).contains(&audio_ctx) && !windows => vec![one(audio_ctx)],
        Some(_) => whole.collect(),
        None => {
            let trimmed = MARGINS.iter().map(|margin| stt::window(samples, *margin));
            let trimmed = trimmed.filter(|audio_ctx| *audio_ctx > 0);
            trimmed.map(one).chain(whole).collect()
        }
    }
}

/// The texts of the tokens of a model, and what its other tokens mean.
fn vocabulary(context: &WhisperContext) -> Result<Vocabulary, whisper_rs::WhisperError> {
    let place = |token: i32| usize::try_from(token).unwrap_or(0);
    let texts = (0..context.token_eot()).map(|token| context.token_to_bytes(token).map(<[u8]>::to_vec));
    let texts: Vec<Vec<u8>> = texts.collect::<Result<_, _>>()?;
    Ok(Vocabulary::new(
        place(context.token_eot()),
        place(context.token_beg()),
        texts,
    ))
}

fn threads(threads: u32) -> usize {
    usize::try_from(threads).unwrap_or(1)
}

/// What of a segment somebody said.
fn said(text: &str, prompt: &str) -> String {
    let text = ghosts::without_directions(text);
    if ghosts::echoes(&text, prompt) {
        String::new()
    } else {
        text
    }
}

fn send_if_said(data: &SegmentCallbackData, prompt: &str, send: &impl Fn(Segment)) {
    let text = said(&data.text, prompt);
    if !text.is_empty() {
        send(Segment {
            start: centiseconds(data.start_timestamp),
            end: centiseconds(data.end_timestamp),
            text,
        });
    }
}

fn failed(error: &whisper_rs::WhisperError, reply: &Reply<SttDialect>) -> EngineError {
    if reply.cancelled() {
        return EngineError::Cancelled;
    }
    EngineError::Refused(format!("The recording could not be recognised: {error}."))
}

/// Foreign samples may be anything; what is no number is silence.
fn clean(sample: f32) -> f32 {
    if sample.is_finite() {
        sample.clamp(-1.0, 1.0)
    } else {
        0.0
    }
}

fn centiseconds(time: i64) -> f32 {
    time.max(0) as f32 / 100.0
}

fn millis(since: Instant) -> f32 {
    since.elapsed().as_secs_f32() * 1000.0
}

/// What the model runs on: the GPU that whisper.cpp took, else the processor and what whisper.cpp says of it,
/// "... | CPU : SSE3 = 1 | AVX2 = 1 | OPENMP = 1 | ...".
fn device(gpu: Option<String>, threads: u32) -> String {
    let plural = if threads == 1 { "" } else { "s" };
    if let Some(name) = gpu {
        return format!("{name}, {threads} thread{plural}");
    }
    let system = whisper_rs::print_system_info();
    let cpu = system.rsplit("CPU : ").next().unwrap_or_default();
    let on: Vec<&str> = cpu
        .split('|')
        .filter_map(|flag| flag.trim().strip_suffix(" = 1"))
        .collect();
    format!("CPU ({}), {threads} thread{plural}", on.join(", "))
}
