//! Time expressions as people say them, resolved against a moment and a zone. Knows no tool.
