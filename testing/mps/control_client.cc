// The program without options: a person's commands to the daemon.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "testing/mps/protocol.h"

namespace kgpu::simmps {
namespace {

int Connect() {
  const std::string path = PipeFolder() + "/" + kControlSocket;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return -1;
  }
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// The answer to one command; false: no daemon.
bool Pass(const std::string& line) {
  const int fd = Connect();
  if (fd < 0) {
    return false;
  }
  const std::string command = line + "\n";
  (void)send(fd, command.data(), command.size(), MSG_NOSIGNAL);
  (void)shutdown(fd, SHUT_WR);
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = read(fd, buffer.data(), buffer.size())) > 0) {
    (void)std::fwrite(buffer.data(), 1, static_cast<size_t>(size), stdout);
  }
  close(fd);
  return true;
}

}  // namespace

std::string PipeFolder() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
  return folder != nullptr ? folder : "/tmp/nvidia-mps";
}

int RunClient() {
  for (std::string line; std::getline(std::cin, line);) {
    if (!Pass(line)) {
      (void)std::printf("Cannot find MPS control daemon process\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace kgpu::simmps
