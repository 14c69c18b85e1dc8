//! Helpers shared by the integration tests; nobody in the workspace depends on this room.
