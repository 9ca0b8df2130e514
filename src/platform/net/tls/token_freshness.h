// What becomes of known tokens when the file that they are from cannot be read.
#pragma once

#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::tls {

class TokenFreshness {
 public:
  // The file was read, or has not changed.
  void OnRead(SteadyTime now);
  // It cannot be used: logs that, once for each reason. True: the known tokens, of which
  // `has_known` says whether there are any, are invalid from now on. They stay valid for an hour,
  // but not when the file or all its tokens were removed (NotFound).
  bool OnProblem(const Status& problem, bool has_known, SteadyTime now);
  // Why the known tokens differ from the file; empty: they do not.
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
  SteadyTime read_at_{};
};

}  // namespace kgpu::tls
