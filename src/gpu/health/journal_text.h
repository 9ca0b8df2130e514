// The journal's lines: each entry is one JSON object on its own line, so that damage to the file
// costs only the lines it touches. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/health/health_event.h"

namespace kgpu::health {

struct JournalEntry {
  WallTime when{};
  std::optional<HealthEvent> event;  // nothing: the host was started, which ends held faults
  std::string boot_id;               // of that start; empty for events
  bool is_first = false;             // the journal was created then; the host may be up for long
  bool operator==(const JournalEntry&) const = default;
};

// The entry for an event.
JournalEntry EntryOf(const HealthEvent& event);

// Ends with a newline; at most kMaxJournalLine bytes: long texts are truncated.
std::string PrintJournalLine(const JournalEntry& entry);
inline constexpr size_t kMaxJournalLine = 4096;

struct JournalText {
  std::vector<JournalEntry> entries;  // in file order
  size_t bad_lines = 0;               // torn, too long, or of another version
};

// Parses all valid lines of `text`.
JournalText ParseJournal(std::string_view text);

}  // namespace kgpu::health
