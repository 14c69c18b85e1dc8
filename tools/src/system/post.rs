//! Mail on servers: the outbox goes out by SMTP, and Maildirs are kept in step by IMAP.

mod server;

pub use server::{Protocol, Server};
