// The handler that fnwatch-bench measures: the input is the output.
#include <string>

std::string Handler(const std::string input) {
  return input;
}
