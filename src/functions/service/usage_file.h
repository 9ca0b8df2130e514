// The hours of use in a file: read at the start, written when they have changed.
#pragma once

#include <string>
#include <utility>

#include "src/functions/service/usage_hours.h"

namespace kgpu::functions {

class UsageFile {
 public:
  // "/var/lib/kgpu/functions/usage.jsonl"; empty: nothing is read or written.
  explicit UsageFile(std::string path) : path_(std::move(path)) {}

  // A file that cannot be read is kept as "….bad".
  void Read(UsageHours& hours) const;
  // Not to the disk each time: a power cut may cost the last minutes.
  void Write(UsageHours& hours) const;

 private:
  const std::string path_;
};

}  // namespace kgpu::functions
