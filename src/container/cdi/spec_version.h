// Versions of the specification.
#pragma once

#include <string_view>

namespace kgpu::cdi {

// Whether "1.2.0" is a version that came after those we know: such a file may be good for an
// engine.
bool IsNewerThanKnown(std::string_view version);

}  // namespace kgpu::cdi
