// kgpu: one program with all commands. Its code is in src/cli.
#include "src/cli/program/main.h"
#include "src/platform/sys/enter_root.h"

int main(int argc, char** argv) {
  // In an image without a chroot program, a link of that name leads here.
  if (argc > 0 && kgpu::sys::IsCalledChroot(argv[0])) {
    return kgpu::sys::EnterRoot(argc, argv);
  }
  return kgpu::cli::Main(argc, argv);
}
