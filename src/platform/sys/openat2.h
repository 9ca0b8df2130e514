// Opens what is below a folder, wherever links lead. Source: openat2(2).
#pragma once

#include <cstdint>

namespace kgpu::sys {

// `resolve`: RESOLVE_IN_ROOT and the like, of <linux/openat2.h>. A close-on-exec descriptor, or
// -errno. Tries again a bounded number of times where the system says so: with a rename elsewhere
// that will do, with somebody's lease on the file it never does.
int OpenAt2(int folder, const char* path, int flags, uint64_t resolve);

}  // namespace kgpu::sys
