//! Logs: to a terminal as people read them, to the journal of systemd as that reads them.

use std::{fmt, io};

use rustix::fs::fstat;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Writer},
    },
    registry::LookupSpan,
};

/// Whether what is written to stderr goes to the journal (systemd.exec(5), `JOURNAL_STREAM`).
pub fn to_the_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    fstat(io::stderr()).is_ok_and(|stat| named == format!("{}:{}", stat.st_dev, stat.st_ino))
}

/// One line an event with its priority in front (sd-daemon(3)); the journal has the time, and shows the colours.
pub struct ForTheJournal;

impl<S, N> FormatEvent<S, N> for ForTheJournal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        let plain = Format::default()
            .without_time()
            .with_level(false)
            .with_ansi(false);
        plain.format_event(ctx, Writer::new(&mut text), event)?;
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        // Each line is an entry of its own there.
        text.lines()
            .try_for_each(|line| writeln!(writer, "<{priority}>{line}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Kept {
        type Writer = Kept;

        fn make_writer(&'a self) -> Kept {
            self.clone()
        }
    }

    #[test]
    fn every_line_has_its_priority_and_no_time() {
        let kept = Kept::default();
        let log = tracing_subscriber::fmt()
            .with_writer(kept.clone())
            .with_max_level(Level::DEBUG)
            .event_format(ForTheJournal)
            .finish();
        tracing::subscriber::with_default(log, || {
            tracing::error!("a bug");
            tracing::warn!(n = 2, "odd\nand more");
            tracing::info!("ready");
            tracing::debug!("detail");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let target = module_path!();
        assert_eq!(
            text,
            format!(
                "<3>{target}: a bug\n<4>{target}: odd\n<4>and more n=2\n<6>{target}: ready\n<7>{target}: detail\n"
            )
        );
    }
}
