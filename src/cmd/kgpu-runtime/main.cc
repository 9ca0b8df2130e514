// kgpu-runtime: an OCI runtime that gives containers their GPUs and then is runc or crun. Also
// found as nvidia-container-runtime-hook. All of it is in src/container/shim.
#include <unistd.h>

#include "src/container/shim/run.h"

int main(int argc, char** argv) {
  return kgpu::shim::Main(argc, argv, environ);
}
