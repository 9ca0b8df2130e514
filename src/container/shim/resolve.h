// From what is granted to what is edited: looks devices up in the injection index and in CDI
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
  bool has_driver = false;  // anything of the index
  // Of the index: nodes, mounts and variables for the capabilities wanted.
  cdi::ContainerEdits index_edits;
  // Of CDI files: each file's own edits once, then those of its devices, in the order asked.
  cdi::ContainerEdits cdi_edits;
  std::vector<std::string> devices;              // for people: UUIDs, CDI names
  std::vector<const inject::IndexDevice*> gpus;  // in the index given
  std::vector<std::string> notes;                // what was asked for and is not on this host
};

// Reads the index when the first device asks for it. The reference is valid while the reader lives.
class IndexReader {
 public:
  explicit IndexReader(const sys::Root& root) : root_(root) {}
  // Errors: FailedPrecondition (none: names the commands that write one, or it is of another age),
  // InvalidArgument, PermissionDenied.
  StatusOr<const inject::InjectionIndex*> Get();

 private:
  const sys::Root& root_;
  std::optional<inject::InjectionIndex> index_;
};

// `root` is where CDI folders are. Errors: NotFound naming the device and what there is,
// FailedPrecondition (a GPU in MIG mode asked for as a whole; several files declare one device),
// those of IndexReader.
StatusOr<Grant> Resolve(const Request& request, inject::CapabilitySet wanted, IndexReader& reader,
                        const sys::Root& root);

}  // namespace kgpu::shim
