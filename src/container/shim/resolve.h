// Turns a granted request into edits: looks devices up in the injection index and in CDI
// folders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/index.h"
#include "src/container/shim/request.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

struct Grant {
  bool has_driver = false;  // whether anything comes from the index
  // From the index: nodes, mounts and variables for the wanted capabilities.
  cdi::ContainerEdits index_edits;
  // From CDI files: each file's own edits once, then those of its devices, in request order.
  cdi::ContainerEdits cdi_edits;
  std::vector<std::string> devices;              // for people: UUIDs, CDI names
  std::vector<const inject::IndexDevice*> gpus;  // in the index given
  std::vector<std::string> notes;                // requests for things that this host does not have
};

// Reads the index when the first device needs it. The reference is valid while the reader lives.
class IndexReader {
 public:
  explicit IndexReader(const sys::Root& root) : root_(root) {}
  // Errors: FailedPrecondition (no index: names the commands that write one; or it is from another
  // version), InvalidArgument, PermissionDenied.
  StatusOr<const inject::InjectionIndex*> Get();

 private:
  const sys::Root& root_;
  std::optional<inject::InjectionIndex> index_;
};

// `root` contains the CDI folders. Errors: NotFound naming the device and the existing ones,
// FailedPrecondition (a GPU in MIG mode requested as a whole; several files declare one device),
// those of IndexReader.
StatusOr<Grant> Resolve(const Request& request, inject::CapabilitySet wanted, IndexReader& reader,
                        const sys::Root& root);

}  // namespace kgpu::shim
