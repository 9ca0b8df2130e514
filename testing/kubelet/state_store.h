// Stores the pods of a node in a file, so that they survive the process.
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
  // `node` must outlive this.
  StateStore(Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  // Loads what the previous process left; does nothing if there is no file. Errors: InvalidArgument
  // (not our layout).
  Status Load();
  // Writes the file before the loop waits again.
  void Changed();
  Status Save() const;

 private:
  Node& node_;
  std::string path_;
  bool is_posted_ = false;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
