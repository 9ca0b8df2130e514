// All of kgpu-probe except its command line.
#pragma once

namespace kgpu::probe::child {

// Serves requests on `fd` until the parent asks it to stop, goes away or breaks the protocol. The
// first kInit loads the library at `library_path`. Returns the exit code.
int Run(int fd, const char* library_path, const char* build);

}  // namespace kgpu::probe::child
