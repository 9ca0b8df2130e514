// kgpu: one program with all commands. Its code is in src/cli.
#include "src/cli/main.h"

int main(int argc, char** argv) {
  return kgpu::cli::Main(argc, argv);
}
