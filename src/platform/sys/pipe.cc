#include "src/platform/sys/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "src/platform/base/status_macros.h"

namespace kgpu::sys {

StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "make a pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

StatusOr<Pipe> MakeOutputPipe() {
  ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  RETURN_IF_ERROR(SetNonBlocking(pipe.read.get()));
  return pipe;
}

Status SetNonBlocking(int fd) {
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set a pipe to non-blocking");
  }
  return OkStatus();
}

}  // namespace kgpu::sys
