#include "src/node/inventory/quick_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/host/inspect/companion_nodes.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/openat2.h"

namespace kgpu::inventory {
namespace {

constexpr char kFolder[] = "proc/driver/nvidia";
// Limit for the version's file, which has two lines.
constexpr size_t kVersionLimit = 1024;

// The look is taken every 2 s: the driver's folder below the root is opened once, and all else
// relative to it, where links cannot lead out of it either. Negative if there is no such file; the
// reason is not needed.
int OpenIn(int folder, const std::string& name, int flags) {
  return sys::OpenAt2(folder, name.c_str(), flags | O_NONBLOCK, RESOLVE_IN_ROOT);
}

std::string Text(int folder, const std::string& name) {
  const UniqueFd fd(OpenIn(folder, name, O_RDONLY));
  std::array<char, kVersionLimit> text{};
  const ssize_t size = fd.is_valid() ? read(fd.get(), text.data(), text.size()) : -1;
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : std::string();
}

// Sorted, without "." and ".."; nothing if there is no such folder.
std::optional<std::vector<std::string>> Names(int folder, const std::string& name) {
  UniqueFd fd(OpenIn(folder, name, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd.is_valid() ? fdopendir(fd.get()) : nullptr,
                                                closedir);
  if (!dir) {
    return std::nullopt;
  }
  (void)fd.Release();  // closedir closes it
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): ours alone
    if (entry->d_name[0] != '.') {
      names.emplace_back(&entry->d_name[0]);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> NamesOrNone(int folder, const std::string& name) {
  return Names(folder, name).value_or(std::vector<std::string>());
}

// "mig:" when the GPU has such a folder, and "gi7[ci0,]" for each GPU instance.
void AddInstances(int folder, const std::string& mig_folder, std::string& look) {
  const auto instances = Names(folder, mig_folder);
  if (!instances) {
    return;
  }
  look += "mig:";
  for (const std::string& instance : *instances) {
    if (!instance.starts_with("gi")) {
      continue;
    }
    look += instance + "[";
    const std::string of_instance = fmt::format("{}/{}", mig_folder, instance);
    for (const std::string& entry : NamesOrNone(folder, of_instance)) {
      if (entry.starts_with("ci")) {
        look += entry + ",";
      }
    }
    look += "]";
  }
}

// The time says enough: a list of 2,000 channels each time would cost more than all the rest.
void AddTime(const sys::Root& host, std::string_view folder, std::string& look) {
  const UniqueFd fd(host.TryOpen(std::string(folder).c_str(), O_PATH));
  struct stat status = {};
  if (fd.is_valid() && fstat(fd.get(), &status) == 0) {
    look += fmt::format("{}@{}.{}\n", folder, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
}

void AddModule(const sys::Root& host, std::string& look) {
  const UniqueFd folder(host.TryOpen(kFolder, O_PATH | O_DIRECTORY));
  const std::string version = folder.is_valid() ? Text(folder.get(), "version") : std::string();
  if (version.empty()) {
    return;
  }
  look += version;
  for (const std::string& gpu : NamesOrNone(folder.get(), "gpus")) {
    look += gpu + "\n";
  }
  for (const std::string& gpu : NamesOrNone(folder.get(), "capabilities")) {
    if (gpu.starts_with("gpu")) {
      look += gpu + ":";
      AddInstances(folder.get(), fmt::format("capabilities/{}/mig", gpu), look);
    }
  }
}

}  // namespace

std::string QuickLook(const sys::Root& host) {
  std::string look;
  AddModule(host, look);
  AddTime(host, host::kImexChannelFolder, look);
  AddTime(host, host::kInfinibandFolder, look);
  return look;
}

}  // namespace kgpu::inventory
