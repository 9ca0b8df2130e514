// Pipes whose ends no program that is started inherits.
#pragma once

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Both ends block. Errors: those of pipe2(2).
StatusOr<Pipe> MakePipe();
// The end to read from does not block. The other one is for a program, which may not expect an
// output that does not block. Errors: those of pipe2(2).
StatusOr<Pipe> MakeOutputPipe();
// Errors: those of fcntl(2).
Status SetNonBlocking(int fd);

}  // namespace kgpu::sys
