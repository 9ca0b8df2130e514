// The journal's lines: each entry is one JSON object on a line of its own, so that whatever happens
// to a part of the file costs the lines it touched and no other. Pure.
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
  std::optional<HealthEvent> event;  // nothing: the host was started again, which ends held faults
  std::string boot_id;               // of that start; empty with events
  bool is_first = false;             // the journal was begun then; the host may have run for long
  bool operator==(const JournalEntry&) const = default;
};

// The entry of a piece of events.
JournalEntry EntryOf(const HealthEvent& event);

// With a newline at its end, at most kMaxJournalLine bytes: long texts are cut.
std::string PrintJournalLine(const JournalEntry& entry);
inline constexpr size_t kMaxJournalLine = 4096;

struct JournalText {
  std::vector<JournalEntry> entries;  // in the order of the file
  size_t bad_lines = 0;               // torn, too long, or of another version
};

// What can be read of `text`.
JournalText ParseJournal(std::string_view text);

}  // namespace kgpu::health
