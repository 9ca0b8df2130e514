// Finds the simulated host from this library's own file.
#pragma once

namespace kgpu::sim {

// Walks up from this library's file to the folder with the state server's socket. `root` must hold
// PATH_MAX bytes. False: there is none.
bool FindRoot(char* root);

}  // namespace kgpu::sim
