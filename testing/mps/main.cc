// A stand-in for NVIDIA's nvidia-cuda-mps-control.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "testing/mps/protocol.h"

namespace {

// Returns in the daemon; the caller ends.
bool GoToBackground() {
  const pid_t child = fork();
  if (child != 0) {
    _exit(child < 0 ? 1 : 0);
  }
  return setsid() >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_daemon = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "-d" || word == "-f") {
      is_daemon = true;
      if (word == "-d" && !GoToBackground()) {
        return 1;
      }
    } else if (word != "-multiuser-server") {
      (void)std::fprintf(stderr, "usage: nvidia-cuda-mps-control [-d | -f] [-multiuser-server]\n");
      return 1;
    }
  }
  return is_daemon ? kgpu::simmps::RunDaemon() : kgpu::simmps::RunClient();
}
