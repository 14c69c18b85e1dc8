//! The tools of the desktop against mocks of its services on a private bus, against programs of our own, and against
//! services that behave badly.

mod absent;
mod held;
mod media;
mod portal;
mod power;
mod programs;
mod radios;
mod sound;
