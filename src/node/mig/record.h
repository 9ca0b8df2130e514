// The layouts that GPUs had before the last change, in /var/lib/kgpu/mig.json: what `kgpu mig
// rollback` restores. Written before anything is changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/change/disk.h"
#include "src/host/change/journal_file.h"
#include "src/node/mig/apply.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

inline constexpr change::JournalFile kRecordFile{"/var/lib/kgpu/mig.json", size_t{1} << 20};

// Errors of ParseRecord: InvalidArgument, naming the field.
std::string PrintRecord(const std::vector<Target>& before);
StatusOr<std::vector<Target>> ParseRecord(std::string_view text, std::string_view file);

}  // namespace kgpu::mig
