// kgpu-probe: the one process that loads NVIDIA's library. Started by kgpu, not by people.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/gpu/probe/child/run.h"

namespace {

constexpr char kUsage[] =
    "usage: kgpu-probe --nvml-library FILE --fd N\n"
    "Calls NVIDIA's management library for kgpu, which starts it with a socket as file\n"
    "descriptor N. Do not run it directly; use `kgpu devices`.\n";

struct Arguments {
  const char* library = nullptr;
  int fd = -1;
};

// The descriptor's number, or -1 if the text is no number or the descriptor is no socket.
int SocketNumber(const char* text) {
  char* end = nullptr;
  const long number = strtol(text, &end, 10);
  int type = 0;
  socklen_t size = sizeof(type);
  if (*text == '\0' || *end != '\0' || number < 0 || number > 1 << 20 ||
      getsockopt(static_cast<int>(number), SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    return -1;
  }
  return static_cast<int>(number);
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--nvml-library") == 0) {
      arguments->library = argv[i + 1];
    } else if (strcmp(argv[i], "--fd") == 0) {
      arguments->fd = SocketNumber(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc == 5 && arguments->library != nullptr && arguments->fd >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    return puts("kgpu-probe " KGPU_VERSION) < 0 ? 1 : 0;
  }
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    (void)fputs(kUsage, stderr);
    return 2;
  }
  return kgpu::probe::child::Run(arguments.fd, arguments.library, KGPU_VERSION);
}
