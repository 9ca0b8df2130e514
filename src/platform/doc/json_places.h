// The positions of a JSON text's values, which Boost.JSON does not report.
#pragma once

#include <string_view>

#include "src/platform/doc/located.h"

namespace kgpu::doc {

// Only meaningful for a text that ParseJson has accepted. It never reads past the end of any text,
// and recurses as deep as the text nests.
Place PlacesOfJson(std::string_view text);

}  // namespace kgpu::doc
