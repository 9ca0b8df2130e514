// Files and device nodes of the driver that a pod mounts from the host itself.
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

// Heads of paths: what follows is a slash, nothing, or more of the name.
constexpr std::array<std::string_view, 14> kDriverPaths = {
    "/usr/lib/nvidia",      "/usr/lib64/nvidia",
    "/usr/lib32/nvidia",    "/var/lib/nvidia-docker",
    "/var/lib/nvidia",      "/usr/local/nvidia",
    "/opt/nvidia/current",  "/dev/nvidia",
    "/usr/bin/nvidia-",     "/usr/lib/libcuda",
    "/usr/lib/libnvidia",   "/usr/lib64/libcuda",
    "/usr/lib64/libnvidia", "/home/kubernetes/bin/nvidia"};
// A pod that has these, or something below them, is a part of the node, which may well need the
// driver's files.
constexpr std::array<std::string_view, 5> kNodePaths = {"/var/lib/kubelet", "/var/run/cdi",
                                                        "/run/cdi", "/etc/cdi", "/run/nvidia"};
// And one that has the whole of these.
constexpr std::array<std::string_view, 2> kWholePaths = {"/", "/dev"};

// IMEX channels and MPS pipes are next to the driver's files, but are not added with a GPU.
bool IsForSharing(std::string_view path) {
  return path.starts_with("/dev/nvidia-caps-imex-channels") ||
         path.find("mps") != std::string_view::npos;
}

bool IsDriverPath(std::string_view path) {
  if (IsForSharing(path)) {
    return false;
  }
  if (std::ranges::any_of(kDriverPaths,
                          [path](std::string_view head) { return path.starts_with(head); })) {
    return true;
  }
  // "/usr/lib/x86_64-linux-gnu/libcuda.so.1".
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.starts_with("/usr/lib/") &&
         (name.starts_with("libcuda.so") || name.starts_with("libnvidia-"));
}

bool IsNodePath(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return std::ranges::find(kWholePaths, path) != kWholePaths.end() ||
         std::ranges::any_of(kNodePaths, [path](std::string_view head) {
           return path == head || path.starts_with(fmt::format("{}/", head));
         });
}

bool HasTrue(const json::value* map, std::string_view key) {
  const json::value* value = FieldOf(map, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// Drivers' installers, plugins, monitors.
bool IsPartOfNode(const PodSpec& pod, const std::vector<Container>& volumes) {
  const std::vector<Container> starters = ItemsOf(pod.spec, pod.path, "initContainers");
  return HasTrue(pod.spec, "hostPID") ||
         std::ranges::any_of(starters,
                             [](const Container& starter) {
                               return HasTrue(FieldOf(starter.value, "securityContext"),
                                              "privileged");
                             }) ||
         std::ranges::any_of(volumes, [](const Container& volume) {
           return IsNodePath(TextOf(FieldOf(volume.value, "hostPath"), "path"));
         });
}

// Somewhere in the folder where images look for the driver's files, whatever the host's path is:
// "/usr/bin" at "/usr/local/nvidia/bin".
bool IsMountedAsDriver(const PodSpec& pod, std::string_view volume) {
  constexpr std::string_view kImagesFolder = "/usr/local/nvidia";
  bool is_mounted = false;
  for (const Container& container : ContainersOf(pod)) {
    for (const Container& mount : ItemsOf(container.value, container.path, "volumeMounts")) {
      if (TextOf(mount.value, "name") == volume) {
        if (!TextOf(mount.value, "mountPath").starts_with(kImagesFolder)) {
          return false;
        }
        is_mounted = true;
      }
    }
  }
  return is_mounted;
}

// The mounts of a volume in all containers, the last first: removing the later ones does not move
// the earlier ones.
std::vector<Change> Unmount(const PodSpec& pod, std::string_view volume) {
  std::vector<Change> changes;
  for (const Container& container : ContainersOf(pod)) {
    for (const Container& mount : ItemsOf(container.value, container.path, "volumeMounts")) {
      if (TextOf(mount.value, "name") == volume) {
        changes.push_back({Change::Kind::kRemove, mount.path, {}, ""});
      }
    }
  }
  std::ranges::reverse(changes);
  return changes;
}

}  // namespace

void CheckDriverMounts(const PodSpec& pod, Matches& matches) {
  const std::vector<Container> volumes = ItemsOf(pod.spec, pod.path, "volumes");
  if (IsPartOfNode(pod, volumes)) {
    return;
  }
  for (const Container& volume : volumes) {
    const std::string_view path = TextOf(FieldOf(volume.value, "hostPath"), "path");
    const bool is_of_host = FieldOf(volume.value, "hostPath") != nullptr;
    if (!is_of_host ||
        (!IsDriverPath(path) && !IsMountedAsDriver(pod, TextOf(volume.value, "name")))) {
      continue;
    }
    Match match;
    match.finding.id = "host-driver-mount";
    match.finding.severity = Severity::kWarning;
    match.path = volume.path.Key("hostPath").Key("path");
    match.value = Printable(path, 200);
    match.finding.message =
        "the driver's files and device nodes come with the GPU: manual mounts fit only one host, "
        "and give access to all its GPUs";
    match.advice = "remove the volume and its mounts, and request nvidia.com/gpu in limits";
    // Without a GPU asked for nothing would take their place.
    if (AsksForGpus(pod) || AsksByOldKey(pod)) {
      match.changes = Unmount(pod, TextOf(volume.value, "name"));
      match.changes.push_back({Change::Kind::kRemove, volume.path, {}, ""});
    }
    matches.push_back(std::move(match));
  }
}

}  // namespace kgpu::manifest
