// The least a runtime shim can do: become the program named by its first argument, with the others.
// The floor of shim_bench.
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    return 2;
  }
  execve(argv[1], argv + 1, environ);
  return 1;
}
