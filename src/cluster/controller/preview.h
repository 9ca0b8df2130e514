// What a controller would do next, node by node, without doing it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/controller/model.h"
#include "src/cluster/controller/writes.h"
#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"

namespace kgpu::controller {

// One node of a group whose driver a policy decides.
struct NodeProgress {
  std::string node{};
  std::string policy{};
  std::string group{};
  std::string driver{};  // version; empty: none
  std::string target{};  // version or branch
  std::string state{};   // "current", "outdated", or the state of its upgrade
  std::string next{};    // what happens next
  // Pods that are evicted before the driver is replaced, "namespace/name"; and those that must go
  // first, but that nobody would create again.
  std::vector<std::string> evicts{};
  std::vector<std::string> blocks{};
  bool operator==(const NodeProgress&) const = default;
};

// Pure.
std::vector<NodeProgress> ProgressOf(const Model& model, const PodSettings& pods, WallTime now);

// Lives on the loop's thread.
class Preview {
 public:
  using Done = std::function<void(StatusOr<std::vector<NodeProgress>>)>;

  // Reads the cluster, and calls `done` once, from the loop. Errors: Unavailable after 30 s, with
  // what is missing. All of them must outlive the preview.
  Preview(EventLoop& loop, kube::Client& client, Random& random, PodSettings pods, Done done);
  ~Preview();
  Preview(const Preview&) = delete;
  Preview& operator=(const Preview&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::controller
