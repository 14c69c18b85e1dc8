//! What Tiro would hear with. It is looked for and not opened: nobody wants a doctor who listens.

use super::{BUS_TIME, Section};
use crate::{config::Config, listen::capture};

/// The microphone that push to talk opens.
pub(super) async fn microphone(config: &Config) -> Section {
    let mut section = Section::new("microphone");
    let name = config.listen.device.clone();
    let (tell, told) = tokio::sync::oneshot::channel();
    // A thread that nobody waits for at the end, because a sound server may hang.
    let looking = std::thread::Builder::new().name("microphone".to_owned());
    let started = looking.spawn(move || {
        let found = capture::find(&name).map(|microphone| (microphone.to_string(), microphone.is_muted()));
        let _ = tell.send(found);
    });
    if let Err(error) = started {
        section.warn(
            "device",
            format!("It cannot be looked for: {error}."),
            "Close other programs.",
        );
        return section;
    }
    match tokio::time::timeout(BUS_TIME, told).await {
        Ok(Ok(Ok((microphone, false)))) => section.ok("device", format!("{microphone}.")),
        Ok(Ok(Ok((microphone, true)))) => section.warn(
            "device",
            format!("{microphone}. It is muted or turned all the way down in the sound settings of your desktop."),
            "Turn it up there. With PipeWire or PulseAudio, `pactl set-source-mute @DEFAULT_SOURCE@ 0` does it for the usual one.",
        ),
        Ok(Ok(Err(error))) => section.warn(
            "device",
            format!("{error:#}"),
            "Tiro still takes what you type. With PipeWire or PulseAudio, `pactl list short sources` shows what is there.",
        ),
        Ok(Err(_)) | Err(_) => section.warn(
            "device",
            "The sound server does not answer.",
            "Restart it: `systemctl --user restart pipewire pipewire-pulse`, or `pulseaudio -k`.",
        ),
    }
    wake(&mut section, config);
    section
}

/// Whether the microphone stays open, and for what.
fn wake(section: &mut Section, config: &Config) {
    let wake = &config.wake;
    if !wake.enabled {
        return;
    }
    if wake.has_no_phrase() {
        let todo = "Add one to wake.phrases in the config, or set wake.enabled to false.";
        return section.warn(
            "wake word",
            "It is on and has no phrase, so the microphone stays closed.",
            todo,
        );
    }
    let phrases: Vec<String> = wake
        .phrases
        .iter()
        .map(|phrase| format!("\"{phrase}\""))
        .collect();
    let says = format!(
        "It listens all the time for {}. `tiro wake test` shows what it hears.",
        phrases.join(" and ")
    );
    section.info("wake word", says);
}
