#include "src/functions/service/usage_file.h"

#include <cstdio>

#include "src/platform/base/log.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMaxUsageBytes = size_t{256} << 20;
constexpr mode_t kUsageMode = 0600;

}  // namespace

void UsageFile::Read(UsageHours& hours) const {
  if (path_.empty()) {
    return;
  }
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  const StatusOr<std::string> text =
      root.ok() ? root->ReadFile(path_, kMaxUsageBytes) : root.status();
  if (text.status().code() == StatusCode::kNotFound) {
    return;
  }
  StatusOr<UsageHours> usage = text.ok() ? UsageHours::Parse(*text) : text.status();
  if (usage.ok()) {
    hours = *std::move(usage);
    return;
  }
  KGPU_LOG(kError, "usage not read", {"file", path_}, {"reason", Message(usage.status())});
  (void)std::rename(path_.c_str(), (path_ + ".bad").c_str());
}

void UsageFile::Write(UsageHours& hours) const {
  if (path_.empty() || !hours.TakeChanged()) {
    return;
  }
  const Status status =
      sys::WriteFileAtomically(path_, hours.Text(), kUsageMode, sys::Durability::kMemory);
  if (!status.ok()) {
    KGPU_LOG(kWarning, "usage not written", {"file", path_}, {"reason", Message(status)});
  }
}

}  // namespace kgpu::functions
