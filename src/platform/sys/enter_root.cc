#include "src/platform/sys/enter_root.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kgpu::sys {
namespace {

int Fail(const char* what, int error, int code) {
  (void)std::fprintf(stderr, "chroot: %s: %s\n", what, std::strerror(error));
  return code;
}

}  // namespace

bool IsCalledChroot(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == kChrootName;  // npos + 1 is 0
}

int EnterRoot(int argc, char** argv) {
  constexpr int kOwnFailure = 125;
  if (argc < 3) {
    (void)std::fputs("usage: chroot ROOT PROGRAM [ARGUMENT …]\n", stderr);
    return kOwnFailure;
  }
  if (chroot(argv[1]) != 0 || chdir("/") != 0) {
    return Fail(argv[1], errno, kOwnFailure);
  }
  execv(argv[2], argv + 2);
  return Fail(argv[2], errno, errno == ENOENT ? 127 : 126);
}

}  // namespace kgpu::sys
