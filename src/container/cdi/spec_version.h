// Versions of the CDI specification.
#pragma once

#include <string_view>

namespace kgpu::cdi {

// Whether a version such as "1.2.0" is newer than those we know: an engine may accept such a
// file.
bool IsNewerThanKnown(std::string_view version);

}  // namespace kgpu::cdi
