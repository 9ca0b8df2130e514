// Where the values of a JSON text stand: Boost.JSON does not report.
#pragma once

#include <string_view>

#include "src/platform/doc/located.h"

namespace kgpu::doc {

// Places of a text that ParseJson has accepted, to be trusted for no other text: it reads no
// further than the text's end whatever the text is, and recurses as deep as the text nests.
Place PlacesOfJson(std::string_view text);

}  // namespace kgpu::doc
