// kgpu-fnwatch: runs a function's handler in its container. Its code is in src/functions/watchdog.
#include <unistd.h>

#include <string>
#include <vector>

#include "src/functions/watchdog/watchdog.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return kgpu::watchdog::Main(arguments, environ);
}
