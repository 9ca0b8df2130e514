// Changes of a YAML document made in its text, for the forms that people write: block lists and
// maps. A guess that Draft proves. Private to this module.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/diagnose/manifest/draft.h"

namespace kgpu::manifest {

// The text with `changes` made, of which several must be of single words on lines of their own; or
// nothing where it cannot be done so. What comes back may be
// wrong: it counts only where it parses to the right tree. `is_within_brackets`: whether a scalar
// that is changed ends at the next comma or bracket.
std::optional<std::string> Splice(std::string_view text, const doc::Located& located,
                                  std::span<const Change> changes, bool is_within_brackets);

}  // namespace kgpu::manifest
