package wire

// The revisions, newest first.
const ModernRevision = "2026-07-28"

var LegacyRevisions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
