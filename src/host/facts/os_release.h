// Reads os-release(5), which describes an operating system.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// Every assignment in the text, without quotes; for a numeric VERSION_ID also its parts as
// VERSION_ID.major and VERSION_ID.minor. Skips lines that are no assignment.
std::map<std::string, std::string> ParseOsRelease(std::string_view text);

// The text of /etc/os-release or, if that is unreadable, of the distribution's own in /usr/lib.
// Errors: NotFound (neither exists), those of reading /etc/os-release.
StatusOr<std::string> ReadOsRelease(const sys::Root& host);

}  // namespace kgpu::host
