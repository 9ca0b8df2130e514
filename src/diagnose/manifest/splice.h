// Changes a YAML document in its text, for the usual forms: block lists and maps. Its results are
// guesses that Draft verifies. Private to this module.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/diagnose/manifest/draft.h"

namespace kgpu::manifest {

// The text with `changes` made (several only if they are single words on lines of their own),
// or nothing if that is not possible. The result may be wrong: it only counts if it parses to
// the right tree. `is_within_brackets`: whether a changed scalar ends at the next comma or
// bracket.
std::optional<std::string> Splice(std::string_view text, const doc::Located& located,
                                  std::span<const Change> changes, bool is_within_brackets);

}  // namespace kgpu::manifest
