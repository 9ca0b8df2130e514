// A file that others replace while we run: read again by its path, but not for every use.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::kube {

// Not through an open descriptor, nor by a watch of the file: tokens and certificates are swapped
// by a link of the folder above.
class RereadFile {
 public:
  static constexpr std::chrono::seconds kPeriod{60};

  // `root` outlives it. An empty path has no text.
  RereadFile(const sys::Root& root, std::string path, size_t limit)
      : root_(root), path_(std::move(path)), limit_(limit) {}

  // The text, at most a minute old. What was read once stays when the file cannot be read now.
  // Errors, before that: as Root::ReadFile.
  StatusOr<std::string> Read(SteadyTime now);
  // The next Read reads.
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
