// The pages of the running program's own file.
#pragma once

namespace kgpu::sys {

// Unmaps the program's code and constants from memory: what is run again is mapped again from the
// page cache, a piece at a time, what only the start needed stays away. For a daemon, once it has
// started. Does nothing to what can be written. Thread: any.
// Source: madvise(2), MADV_DONTNEED of a file's private mapping.
void ForgetStartUpPages();

}  // namespace kgpu::sys
