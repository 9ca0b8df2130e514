// What is under way while a driver is installed: a bar on a terminal, a line for each step else.
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
  // `width` of the terminal; 0: it is none. `write` gets what is to be shown as it is.
  DriverProgress(size_t width, std::function<void(std::string_view)> write)
      : width_(width), write_(std::move(write)) {}
  // On standard error.
  static DriverProgress OnStandardError();

  void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) override;
  void OnLine(std::string_view line) override;
  // A line of its own, on a terminal as well: the bar would cut it off.
  void OnWait(std::string_view line) override;
  // Takes the bar away, for what is printed next.
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
