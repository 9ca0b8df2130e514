// Invariants of every edit of every text: for fuzz targets and for tests with random texts.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/edit/document.h"

namespace kgpu::edit {

// Edits `text` as the bytes of `script` say, then reverts it. Each step is either refused, or
// changes exactly what was asked and nothing more when repeated; reverting all steps restores
// `text`. Returns the invariant that is violated; "" if none is.
std::string CheckEdits(std::string_view text, Syntax syntax, std::string_view script);

}  // namespace kgpu::edit
