#include "src/node/pods/container_index.h"

#include <algorithm>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::pods {
namespace {

constexpr char kLogs[] = "var/log/pods";
// The kubelet runs 110 pods unless configured otherwise, and clears up after those that are gone.
constexpr size_t kMostFolders = 4'096;

// The letters that names of namespaces and pods may have.
bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

StatusOr<LoggedPods> ReadLoggedPods(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::vector<std::string> folders, host.ListDir(kLogs));
  LoggedPods pods;
  for (const std::string& folder : folders) {
    // None of the three may have an underscore.
    const std::vector<std::string_view> parts = Split(folder, '_');
    const bool is_pod = parts.size() == 3 && std::ranges::all_of(parts, IsName);
    if (!is_pod || pods.size() >= kMostFolders) {
      continue;
    }
    LoggedPod& pod = pods[std::string(parts[2])];
    pod.name = {std::string(parts[0]), std::string(parts[1])};
    pod.containers =
        host.ListDir(fmt::format("{}/{}", kLogs, folder)).value_or(std::vector<std::string>());
  }
  return pods;
}

void ContainerIndex::Learn(const std::vector<cri::ContainerFacts>& containers) {
  by_id_.clear();
  running_.clear();
  has_runtime_ = true;
  for (const cri::ContainerFacts& facts : containers) {
    if (facts.is_running) {
      by_id_[facts.id] = {.pod_namespace = facts.pod_namespace,
                          .pod = facts.pod,
                          .container = facts.container,
                          .pod_uid = facts.pod_uid};
      running_[{facts.pod_namespace, facts.pod}] = facts.pod_uid;
    }
  }
}

void ContainerIndex::LearnLogs(LoggedPods pods) {
  by_uid_ = std::move(pods);
  logged_.clear();
  for (const auto& [uid, pod] : by_uid_) {
    logged_[pod.name] = uid;
  }
}

std::optional<Container> ContainerIndex::Find(const std::vector<CgroupPlace>& places) const {
  for (const CgroupPlace& place : places) {
    const auto known = by_id_.find(place.container_id);
    if (known != by_id_.end() && !place.container_id.empty()) {
      return known->second;
    }
    if (const auto pod = by_uid_.find(place.pod_uid); pod != by_uid_.end()) {
      const auto& [name, containers] = pod->second;
      return Container{.pod_namespace = name.first,
                       .pod = name.second,
                       .container = containers.size() == 1 ? containers.front() : "",
                       .pod_uid = place.pod_uid};
    }
  }
  return std::nullopt;
}

bool ContainerIndex::IsKnown(const std::vector<CgroupPlace>& places) const {
  for (const CgroupPlace& place : places) {
    if (by_id_.contains(place.container_id)) {
      return true;
    }
  }
  return false;
}

std::string ContainerIndex::UidOf(const PodName& pod) const {
  for (const auto* uids : {&running_, &logged_}) {
    if (const auto found = uids->find(pod); found != uids->end()) {
      return found->second;
    }
  }
  return "";
}

bool ContainerIndex::IsRunning(const PodName& pod) const {
  return running_.contains(pod);
}

}  // namespace kgpu::pods
