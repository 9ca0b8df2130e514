// A file that others replace while we run: re-read by its path, but not for every use.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::kube {

// Uses neither an open descriptor nor a watch of the file: tokens and certificates are swapped by a
// link of the folder above.
class RereadFile {
 public:
  static constexpr std::chrono::seconds kPeriod{60};

  // `root` must outlive it. An empty path has no text.
  RereadFile(const sys::Root& root, std::string path, size_t limit)
      : root_(root), path_(std::move(path)), limit_(limit) {}

  // The text, at most a minute old. If the file cannot be read now, keeps the last text. Errors,
  // before the first success: as Root::ReadFile.
  StatusOr<std::string> Read(SteadyTime now);
  // Makes the next Read read the file.
  void Expire() { read_at_.reset(); }
  const std::string& path() const { return path_; }

 private:
  const sys::Root& root_;
  std::string path_;
  size_t limit_;
  std::optional<SteadyTime> read_at_;
  std::optional<std::string> text_;
};

}  // namespace kgpu::kube
