// Keeps the pods of a node in a file, so that they outlive the process.
#pragma once

#include <string>
#include <utility>

#include "src/platform/base/status.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/node.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class StateStore {
 public:
  // `node` outlives this.
  StateStore(Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  // Takes up what the process before this one left; nothing when there is no file. Errors:
  // InvalidArgument (not of our layout).
  Status Load();
  // The file is written before the loop waits again.
  void Changed();
  Status Save() const;

 private:
  Node& node_;
  std::string path_;
  bool is_posted_ = false;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
