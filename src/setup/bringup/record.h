// What `kgpu node up` has begun on a host, written before it is begun, so that `kgpu node down`
// takes back that and nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::bringup {

inline constexpr std::string_view kRecordFolder = "/var/lib/kgpu/node";
inline constexpr std::string_view kRecordFile = "/var/lib/kgpu/node/record.json";

struct Record {
  std::vector<std::string> stages;  // ids, in the order in which they were begun
  // That are ours: path, and change::Fingerprint of each text that we wrote or were about to write.
  std::map<std::string, std::vector<std::string>> files{};
  // An agent that is not by `up` answered before this call of `up` began. It comes back by itself
  // after a restart, later than `up`, and no second one is put beside it.
  bool has_others_agent = false;
  // By stage, names of the Levels that are ours. Without an entry all are: `up` is at work on that
  // stage, or was killed at it.
  std::map<std::string, std::vector<std::string>> own{};
  // The unit of an installed package was enabled by `up`; its file is the package's.
  bool has_enabled_unit = false;
  bool operator==(const Record&) const = default;
};

std::string PrintRecord(const Record& record);
// Errors: InvalidArgument, naming `file` and the field.
StatusOr<Record> ParseRecord(std::string_view text, std::string_view file);

// Empty where there is none. Errors: as ParseRecord and of reading.
StatusOr<Record> ReadRecord(const sys::Root& host);
// An empty one is removed. Errors: those of writing; the old one stays then.
Status WriteRecord(change::Disk& disk, const Record& record);

// Only one at a time may bring a host up or down. Errors: Unavailable (another does), and those of
// making kRecordFolder.
StatusOr<UniqueFd> LockRecord(const sys::Root& host, change::Disk& disk);

}  // namespace kgpu::bringup
