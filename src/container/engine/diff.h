// Shows people how a file changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::engine {

// A unified diff with three lines of context, as `diff -u` prints and `patch` accepts; empty if
// both are equal. A missing text is /dev/null in the header.
std::string UnifiedDiff(std::string_view path, const std::optional<std::string>& before,
                        const std::optional<std::string>& after);

}  // namespace kgpu::engine
