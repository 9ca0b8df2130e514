// The results of a command for several functions: a line each for people while it goes on, one
// document at its end for programs.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string_view>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/output.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

class FnResults {
 public:
  explicit FnResults(OutputFormat format) : format_(format) {}

  // `line` is for people. Errors: as PrintOut.
  Status Add(std::string_view line, boost::json::object result);

  // Prints `{"functions": [...]}`, also what was done before `status` ended the command: programs
  // have to know. Returns `status`. Errors: as PrintOut.
  StatusOr<ExitCode> Finish(const Status& status) &&;

 private:
  const OutputFormat format_;
  boost::json::array results_;
};

}  // namespace kgpu::cli
