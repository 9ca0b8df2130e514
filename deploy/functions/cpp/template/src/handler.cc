#include "handler.h"

// Called once for each call of the function, with the caller's bytes. The process lives on between
// calls: what is expensive to make, a CUDA context say, can stay in a variable outside.
std::string Handler(const std::string req) {
  return req;
}
