// What an operating system says of itself in os-release(5).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace kgpu::features {

// Every assignment of the text, quotes taken off, and of a VERSION_ID made of numbers its parts as
// VERSION_ID.major and VERSION_ID.minor. Lines that are no assignment are left out.
std::map<std::string, std::string> ParseOsRelease(std::string_view text);

}  // namespace kgpu::features
