// What an operating system says of itself in os-release(5).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// Every assignment of the text, quotes taken off, and of a VERSION_ID made of numbers its parts as
// VERSION_ID.major and VERSION_ID.minor. Lines that are no assignment are left out.
std::map<std::string, std::string> ParseOsRelease(std::string_view text);

// The text of /etc/os-release, or, where that cannot be read, of the distribution's own in
// /usr/lib. Errors: NotFound (there is neither), those of reading /etc/os-release.
StatusOr<std::string> ReadOsRelease(const sys::Root& host);

}  // namespace kgpu::host
