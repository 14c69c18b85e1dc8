//! What may have been all that somebody says is read by the model before it is sure that they have finished, so that they wait
//! for its answer only.

use std::sync::{Arc, Mutex};

use super::{Daemon, front::lock, listening::Way, one_turn::forgotten};
use crate::{reply::Happening, room::Foreseen};

impl Daemon {
    /// Whoever is listened to sees what was understood so far. Where that may be all, since they paused after this frame, the
    /// model begins to read it; where it is a request that needs none, it is waited less for more.
    pub(super) fn so_far(&mut self, number: u64, text: String, pause: Option<usize>) {
        let mut listenings = self.open.iter().chain(&self.closing);
        let Some(open) = listenings.find(|open| open.number == number) else {
            return;
        };
        let request = match (open.way, &self.parts.wake) {
            (Way::Woken(_), Some(wake)) => wake.phrases.strip(&text).trim(),
            _ => text.trim(),
        };
        let foreseeable = open.question.is_none() && self.running.is_none() && !request.is_empty();
        let request = pause
            .filter(|_| foreseeable)
            .map(|spoken| (request.to_owned(), open.listening.known(spoken, &text)));
        self.tell_one(open.client, Happening::Hearing { text });
        if let Some((request, known)) = request {
            self.foresee(request, known);
        }
    }

    /// Lets the model read what the person may have said, until they say something else. Calls `known` with what came
    /// of it.
    fn foresee(&mut self, text: String, known: impl Fn(Foreseen) + Send + 'static) {
        if let Some((before, foreseeing)) = &self.foreseen
            && *before == text
        {
            return foreseeing.tell(known);
        }
        let foreseeing = Foreseeing::default();
        foreseeing.tell(known);
        let found = foreseeing.clone();
        self.part_after_silence();
        self.stop_learning();
        let (room, words) = (Arc::clone(&self.room), text.clone());
        let forget = Arc::clone(&self.forget);
        // Never the words: a log may be shown to somebody.
        tracing::debug!("this may be all");
        let reading = tokio::spawn(async move {
            let mut room = room.lock().await;
            forgotten(&mut room, &forget);
            match room.foresee(&words).await {
                Ok(what) => found.found(what),
                Err(error) => tracing::debug!(%error, "what may have been said could not be foreseen"),
            }
        });
        if let Some(before) = self.warming.replace(reading) {
            before.abort();
        }
        self.foreseen = Some((text, foreseeing));
    }
}

/// What is found out about words while it is not sure that they are all, and who wants to know.
#[derive(Clone, Default)]
pub struct Foreseeing(Arc<Mutex<(Option<Foreseen>, Option<Known>)>>);

/// Told what was found out.
type Known = Box<dyn Fn(Foreseen) + Send>;

impl Foreseeing {
    /// From now on this is told, at once where it is known already. Whoever wanted to know before has heard more since.
    fn tell(&self, known: impl Fn(Foreseen) + Send + 'static) {
        let (found, tell) = &mut *lock(&self.0);
        match found {
            Some(found) => known(*found),
            None => *tell = Some(Box::new(known)),
        }
    }

    fn found(&self, what: Foreseen) {
        let (found, tell) = &mut *lock(&self.0);
        *found = Some(what);
        if let Some(tell) = tell.take() {
            tell(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreseen_is_told_of_the_last_frame_in_which_the_words_were_the_same() {
        let told = Arc::<Mutex<Vec<(usize, Foreseen)>>>::default();
        let at = |frame| {
            let told = Arc::clone(&told);
            move |found| told.lock().unwrap().push((frame, found))
        };
        let foreseeing = Foreseeing::default();
        foreseeing.tell(at(1));
        foreseeing.tell(at(2));
        foreseeing.found(Foreseen::Whole);
        foreseeing.tell(at(3));
        let expected = [(2, Foreseen::Whole), (3, Foreseen::Whole)];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
