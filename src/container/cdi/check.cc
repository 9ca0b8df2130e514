#include "src/container/cdi/check.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace kgpu::cdi {
namespace {

// The spec does not fit the host any more.
report::Finding Stale(std::string device, std::string message) {
  return {.id = "cdi-stale",
          .subject = std::move(device),
          .message = std::move(message),
          .fix = {.commands = {"kgpu cdi generate   # regenerate the outdated spec"}}};
}

char TypeOf(mode_t mode) {
  if (S_ISCHR(mode)) {
    return 'c';
  }
  if (S_ISBLK(mode)) {
    return 'b';
  }
  return S_ISFIFO(mode) ? 'p' : '-';
}

std::optional<std::string> CheckNode(const DeviceNode& node, const sys::Root& engine) {
  const std::string& path = node.host_path.empty() ? node.path : node.host_path;
  const StatusOr<struct stat> status = engine.Stat(path);
  if (!status.ok()) {
    return fmt::format("device node {}: {}", path, Message(status.status()));
  }
  char type = node.type.empty() ? TypeOf(status->st_mode) : node.type.front();
  type = type == 'u' ? 'c' : type;
  if (type == '-' || type != TypeOf(status->st_mode)) {
    return fmt::format("{} is not a device node of type \"{}\"", engine.At(path),
                       node.type.empty() ? "c" : node.type);
  }
  const int64_t major = major(status->st_rdev);
  const int64_t minor = minor(status->st_rdev);
  if (node.major.value_or(major) != major || node.minor.value_or(minor) != minor) {
    return fmt::format("{} is {}:{}, the spec says {}:{}", engine.At(path), major, minor,
                       node.major.value_or(major), node.minor.value_or(minor));
  }
  return std::nullopt;
}

// Paths repeat between mounts (a library under three names): each is looked at once.
class Checker {
 public:
  explicit Checker(const sys::Root& engine) : engine_(engine) {}

  void Check(const std::string& device, const ContainerEdits& edits) {
    for (const DeviceNode& node : edits.device_nodes) {
      if (std::optional<std::string> text = CheckNode(node, engine_)) {
        findings_.push_back(Stale(device, *std::move(text)));
      }
    }
    for (const Mount& mount : edits.mounts) {
      CheckPath(device, "mount", mount.host_path);
    }
    for (const Hook& hook : edits.hooks) {
      CheckPath(device, "hook", hook.path);
    }
  }

  void Add(report::Finding finding) { findings_.push_back(std::move(finding)); }
  std::vector<report::Finding> Take() { return std::move(findings_); }

 private:
  void CheckPath(const std::string& device, std::string_view what, const std::string& path) {
    if (!seen_.insert(path).second) {
      return;
    }
    const StatusOr<struct stat> status = engine_.Stat(path);
    if (!status.ok()) {
      Add(Stale(device, fmt::format("{} of {}: {}", what, path, Message(status.status()))));
    }
  }

  const sys::Root& engine_;
  std::set<std::string> seen_;
  std::vector<report::Finding> findings_;
};

}  // namespace

std::vector<report::Finding> CheckSpec(const Spec& spec, const sys::Root& engine) {
  Checker checker(engine);
  if (const Status status = Validate(spec); !status.ok()) {
    checker.Add({.id = "cdi-broken", .message = std::string(Message(status))});
  }
  checker.Check("", spec.edits);
  for (const Device& device : spec.devices) {
    checker.Check(device.name, device.edits);
  }
  return checker.Take();
}

}  // namespace kgpu::cdi
