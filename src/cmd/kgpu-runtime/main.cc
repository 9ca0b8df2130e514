// kgpu-runtime: an OCI runtime that adds GPUs to containers and then executes runc or crun. Also
// installed as nvidia-container-runtime-hook. Its code is in src/container/shim.
#include <unistd.h>

#include "src/container/shim/run.h"

int main(int argc, char** argv) {
  return kgpu::shim::Main(argc, argv, environ);
}
