// Completes the device nodes of CDI edits. Private to this module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::oci {

struct FilledNode {
  std::string type;
  int64_t major = 0;
  int64_t minor = 0;
  std::optional<uint32_t> file_mode;
};

// `given`, with missing fields read from the host's node, which is neither followed nor opened. If
// type and numbers are given, the node need not exist. Errors: NotFound, InvalidArgument (no
// device, or one of another type). Source: fillMissingInfo of pkg/cdi/container-edits_unix.go in
// cncf-tags/container-device-interface.
StatusOr<FilledNode> FillNode(const cdi::DeviceNode& given, const sys::Root& engine);

}  // namespace kgpu::oci
