// What `kgpu node up` has begun on a host, recorded before it begins, so that `kgpu node down`
// reverts exactly that.
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
  std::vector<std::string> stages;  // ids, in the order in which they began
  // Our files: path, and change::Fingerprint of each text that we wrote or were about to write.
  std::map<std::string, std::vector<std::string>> files{};
  // An agent that `up` did not install answered before this call of `up` began. After a restart of
  // the host it comes back by itself, later than `up`, and no second one is installed beside it.
  bool has_others_agent = false;
  // By stage, names of the Levels that are ours. Without an entry, all are: `up` is working on that
  // stage, or was killed while it did.
  std::map<std::string, std::vector<std::string>> own{};
  // The unit of an installed package was enabled by `up`; its file is the package's.
  bool has_enabled_unit = false;
  bool operator==(const Record&) const = default;
};

std::string PrintRecord(const Record& record);
// Errors: InvalidArgument naming `file` and the field.
StatusOr<Record> ParseRecord(std::string_view text, std::string_view file);

// Empty if there is none. Errors: as ParseRecord, and those of reading.
StatusOr<Record> ReadRecord(const sys::Root& host);
// Removes an empty record. Errors: those of writing; the old record then stays.
Status WriteRecord(change::Disk& disk, const Record& record);

// Only one process at a time may bring a host up or down. Errors: Unavailable (another one does),
// and those of creating kRecordFolder.
StatusOr<UniqueFd> LockRecord(const sys::Root& host, change::Disk& disk);

}  // namespace kgpu::bringup
