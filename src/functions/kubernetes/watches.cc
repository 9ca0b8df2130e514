#include "src/functions/kubernetes/watches.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/kubernetes/deployment_facts.h"
#include "src/functions/kubernetes/pod.h"
#include "src/functions/kubernetes/resources.h"
#include "src/functions/manifests/objects.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/log.h"

namespace kgpu::functions {

FunctionWatches::FunctionWatches(EventLoop& loop, kube::Client& client, Random& random,
                                 const std::vector<std::string>& spaces,
                                 FunctionWatchHandlers handlers)
    : loop_(loop), client_(client), random_(random), handlers_(std::move(handlers)) {
  for (const std::string& space : spaces) {
    reflectors_.push_back(Follow(kDeployments.Collection(space), false));
    reflectors_.push_back(Follow(kube::kPods.Collection(space), true));
  }
}

bool FunctionWatches::is_synced() const {
  return std::ranges::all_of(reflectors_,
                             [](const auto& reflector) { return reflector->is_synced(); });
}

std::unique_ptr<kube::Reflector> FunctionWatches::Follow(std::string path, bool are_pods) {
  kube::ReflectorOptions options;
  options.selection = {.path = std::move(path), .label_selector = kManagedSelector};
  options.trim = are_pods ? TrimPod : TrimDeployment;
  const FunctionWatchHandlers& to = handlers_;
  return std::make_unique<kube::Reflector>(
      loop_, client_, random_, std::move(options),
      kube::ReflectorHandlers{
          .on_changed = are_pods ? to.on_pod : to.on_deployment,
          .on_gone = are_pods ? to.on_pod_gone : to.on_deployment_gone,
          .on_synced = [this] { OnSynced(); },
          .on_watching = [this] { trouble_.clear(); },
          .on_trouble =
              [this](const Status& status) {
                if (std::exchange(trouble_, std::string(Message(status))) != Message(status)) {
                  KGPU_LOG(kWarning, "functions not followed", {"reason", Message(status)});
                }
              }});
}

void FunctionWatches::OnSynced() {
  if (!was_synced_ && is_synced()) {
    was_synced_ = true;
    handlers_.on_synced();
  }
}

}  // namespace kgpu::functions
