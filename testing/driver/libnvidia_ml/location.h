// Where the simulated host is, seen from this library's own file.
#pragma once

namespace kgpu::sim {

// Walks up from this library's file to the folder with the state server's socket. `root` holds
// PATH_MAX bytes. False: there is none.
bool FindRoot(char* root);

}  // namespace kgpu::sim
