// What happened to the GPUs' health, on disk: a file of bounded size that outlives restarts of the
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

// Which entries are wanted. A host's start is of every GPU.
struct JournalFilter {
  std::optional<WallTime> since;
  std::optional<device::GpuUuid> gpu;
  bool operator==(const JournalFilter&) const = default;
};
std::vector<JournalEntry> Select(std::vector<JournalEntry> entries, const JournalFilter& filter);

// Whether it tells of something seen once more: there are many of those, and each matters little.
bool IsRepeat(const JournalEntry& entry);

// Which of `entries` are kept when their lines may take `bytes` together, in their order: the
// newest; and of those that tell of something seen once more, none before all others are. Pure.
std::vector<JournalEntry> KeepNewest(std::vector<JournalEntry> entries, size_t bytes);

// Holds no descriptor: whoever removes the file or its folder meanwhile costs the past only.
// Blocks on the disk. Thread: any, one at a time.
class Journal {
 public:
  struct Limits {
    // Past `bytes` the file is written again with the half that KeepNewest keeps.
    size_t bytes = size_t{1} << 20;
  };

  // `folder` is made with the first entry.
  Journal(std::string folder, Limits limits);

  // They are on the disk, or none of them is in the file. A torn line, of a power cut say, stays
  // alone. Errors: ResourceExhausted (the disk is full), PermissionDenied, FailedPrecondition
  // (read-only), …
  Status Append(std::span<const JournalEntry> entries) const;
  // All that can be read; nothing where there is no journal yet. Errors: PermissionDenied, …
  StatusOr<JournalText> Read() const;
  // Which boot is in it. Reads no entry: a full journal costs an agent that starts no memory.
  enum class Boots : uint8_t { kNone, kOthers, kThis };
  StatusOr<Boots> FindBoot(std::string_view boot_id) const;

  const std::string& path() const { return path_; }

 private:
  // Its newest lines.
  StatusOr<std::string> ReadText() const;
  Status AppendTo(int fd, size_t size, std::string_view text) const;
  Status Compact(std::span<const JournalEntry> more) const;

  std::string folder_;
  std::string path_;
  Limits limits_;
};

}  // namespace kgpu::health
