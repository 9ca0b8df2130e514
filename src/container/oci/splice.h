// Puts new values into the text of a JSON object without touching what stands around them. Private
// to this module.
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

// `text` is one JSON object of which Outline made one; paths are distinct and none is the front of
// another. A value that is there is replaced; one that is not is added behind the last field of the
// nearest object above it that is there. Errors: InvalidArgument: a key on the way stands twice or
// is written with escapes, or a value to be replaced holds a number that is no plain 64-bit integer
// (whoever made the new value from the old one could not have kept it).
StatusOr<std::string> Splice(std::string_view text, const std::vector<Change>& changes);

}  // namespace kgpu::oci
