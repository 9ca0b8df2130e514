// kgpu: every command in one program. All of it is in src/cli.
#include "src/cli/main.h"

int main(int argc, char** argv) {
  return kgpu::cli::Main(argc, argv);
}
