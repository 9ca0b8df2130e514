#include "src/functions/service/usage_file.h"

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMaxUsageBytes = size_t{256} << 20;
constexpr mode_t kUsageMode = 0600;

}  // namespace

UsageFile::UsageFile(std::string path)
    : file_(std::move(path), {.most_bytes = kMaxUsageBytes,
                              .mode = kUsageMode,
                              .durability = sys::Durability::kMemory}) {
}

void UsageFile::Read(UsageHours& hours) const {
  if (file_.path().empty()) {
    return;
  }
  auto usage = file_.Read(&UsageHours::Parse);
  if (!usage.ok()) {
    // The next write would replace it.
    const Status problem = file_.SetAside(usage.status());
    KGPU_LOG(kError, "usage not read", {"file", file_.path()}, {"reason", Message(problem)});
  } else if (*usage) {
    hours = **std::move(usage);
  }
}

void UsageFile::Write(UsageHours& hours) const {
  if (file_.path().empty() || !hours.TakeChanged()) {
    return;
  }
  if (const Status status = file_.Write(hours.Text()); !status.ok()) {
    KGPU_LOG(kWarning, "usage not written", {"file", file_.path()}, {"reason", Message(status)});
  }
}

}  // namespace kgpu::functions
