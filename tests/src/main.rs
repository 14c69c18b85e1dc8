//! One integration binary: every module is one topic.
