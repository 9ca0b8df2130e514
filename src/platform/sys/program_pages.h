// The memory pages of the running program's own file.
#pragma once

namespace kgpu::sys {

// Drops the program's code and constants from memory: pages that are used again come back from the
// page cache, a few at a time; those that only the start or a rare event needed stay out. For a
// daemon. Does not touch writable pages. Thread: any. Source: madvise(2), MADV_DONTNEED of a
// file's private mapping.
void ForgetProgramPages();

}  // namespace kgpu::sys
