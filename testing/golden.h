// Compares generated text with a file in the source tree. With KGPU_UPDATE_GOLDENS=1 in the
// environment, writes the file instead: read the diff before you commit it.
#pragma once

#include <string_view>

namespace kgpu {

// `path` is relative to the top of the source tree. Fails the running test on a difference.
void ExpectGolden(std::string_view path, std::string_view text);

}  // namespace kgpu
