// Finds NVIDIA's program for MPS among the driver's files.
#pragma once

#include <string>
#include <string_view>

#include "src/node/mps/daemon.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::mps {

inline constexpr std::string_view kControlProgram = "nvidia-cuda-mps-control";

// By this process's path, with an environment in which it finds its server and the driver's
// libraries. With a driver root other than "/", `library_folder` gets links to the driver's
// libraries, and is all that the programs search besides their system's folders: beside the
// driver's are the C library and others, which need not fit this process's loader. Errors:
// NotFound, with the package that has the program; those of making the links.
StatusOr<Program> FindControlProgram(const sys::Root& driver, const std::string& library_folder);

// Whether the driver's control daemon has -multiuser-server. `version` is the driver's:
// "550.54.15". Source: NVIDIA's MPS documentation, "Server", from its release for r550 on.
bool ServesAllUsers(std::string_view version);

}  // namespace kgpu::mps
