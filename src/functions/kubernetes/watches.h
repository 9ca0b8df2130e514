// Follows the Deployments and pods of functions in some namespaces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct FunctionWatchHandlers {
  std::function<void(const kube::ObjectPtr& deployment)> on_deployment{};
  std::function<void(const kube::ObjectPtr& deployment)> on_deployment_gone{};
  std::function<void(const kube::ObjectPtr& pod)> on_pod{};
  std::function<void(const kube::ObjectPtr& pod)> on_pod_gone{};
  // Every collection has been listed, once.
  std::function<void()> on_synced{};
};

// Lives on the loop's thread.
class FunctionWatches {
 public:
  // All of them must outlive the watches. Handlers are called from the loop.
  FunctionWatches(EventLoop& loop, kube::Client& client, Random& random,
                  const std::vector<std::string>& spaces, FunctionWatchHandlers handlers);

  bool is_synced() const;
  // Why something is not up to date; empty: nothing is wrong.
  const std::string& trouble() const { return trouble_; }

 private:
  std::unique_ptr<kube::Reflector> Follow(std::string path, bool are_pods);
  void OnSynced();

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  const FunctionWatchHandlers handlers_;
  std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
  bool was_synced_ = false;
  std::string trouble_;
};

}  // namespace kgpu::functions
