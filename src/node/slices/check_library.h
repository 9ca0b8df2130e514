// Whether programs of this machine can load a library: known before a container's programs try.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::slices {

// Looks at the library's `bytes`. A loader leaves out what it cannot preload, and programs go on
// without it. Errors: FailedPrecondition (no ELF library, of another machine, incomplete), with
// `path` and the fix. Source: elf(5).
Status CheckLibrary(std::string_view bytes, std::string_view path);

}  // namespace kgpu::slices
