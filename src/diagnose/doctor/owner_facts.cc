#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/node/object/host_facts.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

struct Mark {
  std::string_view name;  // as in the kernel: at most 15 characters
  node::Owner owner;
};

constexpr std::array kProcesses = {
    Mark{"nfd-worker", node::Owner::kNfd},
    Mark{"gpu-feature-dis", node::Owner::kGfd},
    Mark{"nvidia-device-p", node::Owner::kPlugin},
};

// Files by which the operator's validator tells the other parts that they may start.
constexpr std::string_view kValidations = "run/nvidia/validations";

}  // namespace

std::map<node::Owner, std::vector<std::string>> ReadOwnerMarks(host::Sight& sight) {
  std::map<node::Owner, std::vector<std::string>> marks;
  const StatusOr<std::vector<std::string>> entries = sight.host().ListDir("proc");
  for (const std::string& entry : entries.ok() ? *entries : std::vector<std::string>()) {
    if (!ParseUint(entry)) {
      continue;
    }
    const StatusOr<std::string> comm = sight.host().ReadFile(fmt::format("proc/{}/comm", entry));
    const auto found = std::ranges::find(kProcesses, comm.ok() ? Trim(*comm) : "", &Mark::name);
    if (found != kProcesses.end()) {
      marks[found->owner].push_back(fmt::format("process {} (pid {})", found->name, entry));
    }
  }
  if (node::HasGfdFile(sight.host())) {
    marks[node::Owner::kGfd].emplace_back("file gfd in NFD's features.d/");
  }
  const StatusOr<std::vector<std::string>> ready = sight.host().ListDir(kValidations);
  if (ready.ok() && !ready->empty()) {
    marks[node::Owner::kOperator].push_back(fmt::format("/{}/{}", kValidations, ready->front()));
  }
  return marks;
}

}  // namespace kgpu::doctor
