// Finds the pods of other owners on a node: one scan, in small pieces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/object/owners.h"
#include "src/platform/base/status.h"

namespace kgpu::node {

// The pods of `node` that OwnerOfPod recognises. `done` is called once, from the loop, with the
// errors of Client::Send; destroying the scan cancels it. `client` must outlive it.
class PodScan {
 public:
  using Done = std::function<void(StatusOr<std::vector<SeenPod>>)>;

  PodScan(kube::Client& client, std::string node, Done done);

 private:
  void Ask(const std::string& continue_token);
  void OnAnswer(const StatusOr<boost::json::value>& answer);

  kube::Client& client_;
  std::string node_;
  Done done_;
  std::vector<SeenPod> found_;
  std::unique_ptr<kube::Call> call_;
};

}  // namespace kgpu::node
