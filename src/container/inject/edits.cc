#include "src/container/inject/edits.h"

namespace kgpu::inject {

cdi::DeviceNode ToNode(const NodePart& part) {
  cdi::DeviceNode node;
  node.path = part.file.path;
  if (part.engine_path != part.file.path) {
    node.host_path = part.engine_path;
  }
  node.type = "c";
  node.major = part.file.major;
  node.minor = part.file.minor;
  node.permissions = "rw";
  return node;
}

}  // namespace kgpu::inject
