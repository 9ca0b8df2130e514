// HTTP status codes: their names, and their mapping to Status.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::http {

// "Not Found"; "Unknown" for a code that has no name here.
std::string_view ReasonPhrase(int code);

// The HTTP code that corresponds to `status`.
int CodeOf(const Status& status);

// The Status that a response with `code` means for the caller; OK below 400. `text` says what was
// requested and what came back.
Status StatusOf(int code, std::string_view text);

}  // namespace kgpu::http
