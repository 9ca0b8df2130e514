#include "testing/kubelet/pod_cgroup.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace kgpu::kubelet {
namespace {

// Not "/kubepods": a real kubelet of the same machine deletes the pods there that it does not know.
constexpr std::string_view kPods = "kgpu-stub/kubepods/besteffort";
constexpr const char* kCgroups = "/sys/fs/cgroup";

// FNV-1a.
uint64_t Hash(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::string RuntimeId(std::string_view id) {
  std::string text;
  for (uint64_t part = 0; part < 4; ++part) {
    text += fmt::format("{:016x}", Hash(id, part));
  }
  return text;
}

std::string CgroupOf(std::string_view pod_uid, std::string_view id) {
  return fmt::format("/{}/pod{}/{}", kPods, pod_uid, RuntimeId(id));
}

void RemovePodCgroup(std::string_view pod_uid) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string below = fmt::format("{}/pod{}", kPods, pod_uid);
  // Cgroup v2, or one folder for each controller of v1. One that is in use, or not there, stays.
  fs::remove(fmt::format("{}/{}", kCgroups, below), error);
  for (fs::directory_iterator entry(kCgroups, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code in_use;
    fs::remove(entry->path() / below, in_use);
  }
}

}  // namespace kgpu::kubelet
