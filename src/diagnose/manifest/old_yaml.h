// Scalars that kubectl, which reads YAML 1.1, understands differently than we do. Private to this
// module.
#pragma once

#include <string_view>

#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// Whether a plain scalar has another value in YAML 1.1: 0400 (octal), yes, 1_000, 0b11, .inf.
bool IsOldScalar(std::string_view scalar);

// Whether printing the document again would change what kubectl reads: it has such a scalar, or a
// merge key.
bool HasOldYaml(std::string_view text, const doc::Located& located);

}  // namespace kgpu::manifest
