// The whole of kgpu-probe behind its command line.
#pragma once

namespace kgpu::probe::child {

// Serves requests on `fd` until the parent asks for the end, goes away, or breaks the protocol.
// The library at `library_path` is loaded by the first kInit. Returns the exit code.
int Run(int fd, const char* library_path, const char* build);

}  // namespace kgpu::probe::child
