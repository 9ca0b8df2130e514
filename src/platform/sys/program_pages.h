// The memory pages of the running program's own file.
#pragma once

namespace kgpu::sys {

// Drops the program's code and constants from memory: pages that are used again come back from the
// page cache, one at a time; those that only start-up needed stay out. For a daemon, after it has
// started. Does not touch writable pages. Thread: any. Source: madvise(2), MADV_DONTNEED of a
// file's private mapping.
void ForgetStartUpPages();

}  // namespace kgpu::sys
