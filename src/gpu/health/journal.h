// The history of the GPUs' health, on disk: a file of bounded size that survives restarts of the
// agent and of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/gpu/health/journal_text.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::health {

inline constexpr char kJournalFile[] = "health.journal";

// Selects entries. A host start applies to every GPU.
struct JournalFilter {
  std::optional<WallTime> since;
  std::optional<device::GpuUuid> gpu;
  bool operator==(const JournalFilter&) const = default;
};
std::vector<JournalEntry> Select(std::vector<JournalEntry> entries, const JournalFilter& filter);

// Whether it reports a repeat: there are many of those, and each matters little.
bool IsRepeat(const JournalEntry& entry);

// Which of `entries` to keep, in order, if their lines may take `bytes` together: the newest;
// repeats are kept only after all others. Pure function.
std::vector<JournalEntry> KeepNewest(std::vector<JournalEntry> entries, size_t bytes);

// Holds no descriptor: if somebody removes the file or its folder, only the history is lost. Blocks
// on the disk. Thread: any, one at a time.
class Journal {
 public:
  struct Limits {
    // Over `bytes`, the file is rewritten with the half that KeepNewest selects.
    size_t bytes = size_t{1} << 20;
  };

  // The first entry creates `folder`.
  Journal(std::string folder, Limits limits);

  // Writes all entries to the disk, or none. A torn line, from a power cut say, stays alone.
  // Errors: ResourceExhausted (the disk is full), PermissionDenied, FailedPrecondition (read-only),
  // …
  Status Append(std::span<const JournalEntry> entries) const;
  // Everything that can be read; empty if there is no journal yet. Errors: PermissionDenied, …
  StatusOr<JournalText> Read() const;
  // Which boots are in it. Reads no entry: a full journal costs a starting agent no memory.
  enum class Boots : uint8_t { kNone, kOthers, kThis };
  StatusOr<Boots> FindBoot(std::string_view boot_id) const;

  const std::string& path() const { return path_; }

 private:
  // The text of its newest lines.
  StatusOr<std::string> ReadText() const;
  Status AppendTo(int fd, size_t size, std::string_view text) const;
  Status Compact(std::span<const JournalEntry> more) const;

  std::string folder_;
  std::string path_;
  Limits limits_;
};

}  // namespace kgpu::health
