// Reads the GPUs of a cluster from its API server, beside the event loop.
#pragma once

#include <functional>
#include <memory>

#include "src/cluster/gpus/summary.h"
#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::gpus {

// One reading. Thread: the loop's. Destroying it cancels it.
class ClusterReader {
 public:
  using Done = std::function<void(StatusOr<Summary>)>;

  // Lists nodes, pods and, where the server has them, slices and claims, in chunks. `done` is
  // called once, never from here, and may destroy the reader. What else cannot be read is in the
  // summary. Errors: nodes cannot be read: those of kube::ListObjects. `client` must outlive it.
  ClusterReader(kube::Client& client, Done done);
  ~ClusterReader();
  ClusterReader(const ClusterReader&) = delete;
  ClusterReader& operator=(const ClusterReader&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::gpus
