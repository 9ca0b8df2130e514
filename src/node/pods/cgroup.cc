#include "src/node/pods/cgroup.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::pods {
namespace {

// Nesting that makes sense; a path is 4096 bytes at most, and anybody may name cgroups.
constexpr size_t kMostPlaces = 8;
constexpr size_t kLeastUid = 16;
constexpr size_t kMostUid = 64;
constexpr size_t kIdLength = 64;

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kDeleted = " (deleted)";
// Prefixes that runtimes put before the container's id, longest first.
constexpr std::array<std::string_view, 4> kPrefixes = {"cri-containerd-", "docker-", "libpod-",
                                                       "crio-"};
// CRI-O's guard of a container: beside it, not in it.
constexpr std::string_view kConmon = "crio-conmon-";

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string_view WithoutEnd(std::string_view text, std::string_view end) {
  return text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text;
}

// "pod1f2e…" or "kubepods-burstable-pod1f2e_….slice" → "1f2e-…"; nothing for any other name. The
// systemd driver writes "_" for "-", which separates slices there.
std::optional<std::string> PodUid(std::string_view name) {
  const bool is_slice = name.ends_with(kSlice);
  name = WithoutEnd(name, kSlice);
  if (is_slice) {
    name = name.substr(name.rfind('-') + 1);
  }
  if (!name.starts_with("pod")) {
    return std::nullopt;
  }
  std::string uid(name.substr(3));
  std::ranges::replace(uid, '_', '-');
  const bool has_length = uid.size() >= kLeastUid && uid.size() <= kMostUid;
  const bool is_uid = std::ranges::all_of(uid, [](char c) { return c == '-' || IsHexDigit(c); });
  return has_length && is_uid ? std::optional(std::move(uid)) : std::nullopt;
}

std::string_view WithoutPrefix(std::string_view name) {
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) {
      return name.substr(prefix.size());
    }
  }
  return name;
}

// The places of one path, name by name.
class Reader {
 public:
  void Take(std::string_view name) {
    if (name.empty() || name == "." || name == ".." || places_.size() >= kMostPlaces) {
      return;
    }
    // A systemd kubelet with a runtime that is not: "<slice>:cri-containerd:<id>", one name.
    const std::vector<std::string_view> parts = Split(name, ':');
    if (parts.size() == 3) {
      TakeOne(parts[0]);
      TakeOne(parts[2]);
    } else {
      TakeOne(name);
    }
  }
  std::vector<CgroupPlace> places() && { return std::move(places_); }

 private:
  void TakeOne(std::string_view name) {
    if (std::optional<std::string> uid = PodUid(name)) {
      places_.push_back({.pod_uid = *std::move(uid), .container_id = ""});
      return;
    }
    const bool is_in_pod = !places_.empty() && places_.back().container_id.empty();
    const std::string_view id = WithoutPrefix(WithoutEnd(name, kScope));
    const bool is_id = id.size() == kIdLength && std::ranges::all_of(id, IsHexDigit);
    if (name.starts_with(kConmon) || (!is_id && !is_in_pod) || name.ends_with(kSlice)) {
      return;
    }
    // Any cgroup directly in a pod is a container, whatever its runtime calls it.
    if (is_in_pod) {
      places_.back().container_id = id;
    } else {
      places_.push_back({.pod_uid = "", .container_id = std::string(id)});
    }
  }

  std::vector<CgroupPlace> places_;
};

std::vector<CgroupPlace> PlacesOfPath(std::string_view path) {
  Reader reader;
  for (const std::string_view name : Split(WithoutEnd(path, kDeleted), '/')) {
    reader.Take(name);
  }
  return std::move(reader).places();
}

// How much is known: 3 a container of a pod, …, 0 nothing.
int Worth(const std::vector<CgroupPlace>& places) {
  int worth = 0;
  for (const CgroupPlace& place : places) {
    worth = std::max(worth, (place.container_id.empty() ? 0 : 2) + (place.pod_uid.empty() ? 0 : 1));
  }
  return worth;
}

}  // namespace

std::vector<CgroupPlace> PlacesOf(std::string_view text) {
  std::vector<CgroupPlace> best;
  // With v1 each controller has its own path, and a runtime need not use all of them.
  for (const std::string_view line : Split(text, '\n')) {
    const size_t controllers = line.find(':');
    const size_t path =
        controllers == std::string_view::npos ? controllers : line.find(':', controllers + 1);
    if (path == std::string_view::npos) {
      continue;
    }
    std::vector<CgroupPlace> places = PlacesOfPath(line.substr(path + 1));
    if (Worth(places) > Worth(best)) {
      best = std::move(places);
    }
  }
  return best;
}

}  // namespace kgpu::pods
