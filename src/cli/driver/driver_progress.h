// Shows the progress of a driver installation: a bar on a terminal, else one line per step.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "src/setup/driver_install/carry_out.h"

namespace kgpu::cli {

// "[######------] 7/16 install the driver: Unpacking …", at most `width` characters. Pure.
std::string ProgressBar(size_t number, size_t count, std::string_view title, std::string_view line,
                        size_t width);

class DriverProgress final : public driver_install::Progress {
 public:
  // `width` of the terminal; 0: no terminal. `write` gets the output as it is.
  DriverProgress(size_t width, std::function<void(std::string_view)> write)
      : width_(width), write_(std::move(write)) {}
  // On standard error.
  static DriverProgress OnStandardError();

  void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) override;
  void OnLine(std::string_view line) override;
  // Prints a separate line, even on a terminal: the bar would truncate it.
  void OnWait(std::string_view line) override;
  // Removes the bar before other output.
  void Clear();

 private:
  void Draw(std::string_view line);

  size_t width_;
  std::function<void(std::string_view)> write_;
  size_t number_ = 0;
  size_t count_ = 0;
  std::string title_;
};

}  // namespace kgpu::cli
