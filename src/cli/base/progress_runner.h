// Runs other programs and tells a person at a terminal which one takes so long.
#pragma once

#include "src/cli/base/progress.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {

class ProgressRunner final : public sys::ProgramRunner {
 public:
  // `runner` outlives this.
  explicit ProgressRunner(sys::ProgramRunner& runner,
                          Progress::Options options = StandardErrorOptions());

  // Between two lines that the program prints, its name is shown as Progress shows it. Errors:
  // those of the runner.
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;

 private:
  sys::ProgramRunner& runner_;
  const Progress::Options options_;
};

}  // namespace kgpu::cli
