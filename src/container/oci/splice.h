// Puts new values into the text of a JSON object without touching what surrounds them. Private to
// this module.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::oci {

struct Change {
  std::span<const std::string_view> path;  // from the top: {"process", "env"}
  std::string value;                       // JSON text
};

// `text` is a JSON object that Outline accepted; paths are distinct and none is a prefix of
// another. Replaces an existing value; adds a missing one after the last field of the nearest
// existing object above it. Errors: InvalidArgument: a key on the way occurs twice or is written
// with escapes, or a value to replace contains a number that is no plain 64-bit integer (the new
// value, made from the old one, could not have preserved it).
StatusOr<std::string> Splice(std::string_view text, const std::vector<Change>& changes);

}  // namespace kgpu::oci
