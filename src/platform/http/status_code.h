// HTTP's status codes: their names, and what they are as a Status.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::http {

// "Not Found"; "Unknown" for a code without a name here.
std::string_view ReasonPhrase(int code);

// The code that tells a client what `status` tells a caller.
int CodeOf(const Status& status);

// What an answer with `code` means for the caller; OK below 400. `text` says what was asked and
// what came.
Status StatusOf(int code, std::string_view text);

}  // namespace kgpu::http
