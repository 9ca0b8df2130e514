// What a change of a file looks like to people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::engine {

// A unified diff with three lines of context, as `diff -u` prints it and `patch` takes it; empty
// when both are the same. A text that is not there is /dev/null in the header.
std::string UnifiedDiff(std::string_view path, const std::optional<std::string>& before,
                        const std::optional<std::string>& after);

}  // namespace kgpu::engine
