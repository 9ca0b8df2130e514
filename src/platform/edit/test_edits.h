// What must hold of every edit of every text: for fuzz targets and for tests with random texts.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/edit/document.h"

namespace kgpu::edit {

// Edits `text` as the bytes of `script` say and takes it back. Either a step is refused, or the
// text then says what was wanted and nothing else, the same step once more changes nothing, and
// taking all back gives `text` again. Returns what does not hold; "" when all does.
std::string CheckEdits(std::string_view text, Syntax syntax, std::string_view script);

}  // namespace kgpu::edit
