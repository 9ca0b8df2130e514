// Calls the example's handler with each argument, as a worker does: one call after the other in
// one process.
#include <cstdio>
#include <exception>

#include "docs/examples/functions/vector-add/handler.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      const std::string answer = Handler(argv[i]);
      (void)fwrite(answer.data(), 1, answer.size(), stdout);
    } catch (const std::exception& error) {
      (void)fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  return 0;
}
