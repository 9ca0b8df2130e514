// Scalars that kubectl, which reads YAML 1.1, takes for something else than we do. Private to this
// module.
#pragma once

#include <string_view>

#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// Whether a plain scalar is another value in YAML 1.1: 0400 (octal), yes, 1_000, 0b11, .inf.
bool IsOldScalar(std::string_view scalar);

// Whether the document cannot be printed again without a change of what kubectl reads: it has such
// a scalar, or a merge key.
bool HasOldYaml(std::string_view text, const doc::Located& located);

}  // namespace kgpu::manifest
