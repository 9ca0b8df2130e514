// The least a program can do with a driver library: load it, initialise it, wait for a signal. The
// floor for the memory of kgpu-probe.
//   nvml-client LIBRARY
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_LAZY);
  if (library == nullptr) {
    return 1;
  }
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  if (init == nullptr || init() != 0 || write(STDOUT_FILENO, "\n", 1) != 1) {
    return 1;
  }
  pause();
  return 0;
}
