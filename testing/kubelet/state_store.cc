#include "testing/kubelet/state_store.h"

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "testing/kubelet/state_file.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {
namespace {

constexpr size_t kLimit = size_t{64} << 20;

}  // namespace

Status StateStore::Load() {
  const StatusOr<std::string> text = ReadTextFile(path_, kLimit);
  if (text.status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(NodeState state, ParseNodeState(*text, path_));
  node_.world().resources = std::move(state.resources);
  node_.world().pods.Restore(std::move(state.pods));
  return OkStatus();
}

void StateStore::Changed() {
  if (!std::exchange(is_posted_, true)) {
    node_.world().loop.Post(lifeline_.Guard([this] {
      is_posted_ = false;
      if (const Status status = Save(); !status.ok()) {
        KGPU_LOG(kError, "pods not saved", {"reason", Message(status)});
      }
    }));
  }
}

Status StateStore::Save() const {
  NodeState state;
  for (const Pod* pod : node_.world().pods.All()) {
    state.pods.push_back(*pod);
  }
  state.resources = node_.world().resources;
  return sys::WriteFileAtomically(path_, PrintNodeState(state), 0600);
}

}  // namespace kgpu::kubelet
