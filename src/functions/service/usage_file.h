// The hours of use in a file: read at the start, written when they have changed.
#pragma once

#include <string>

#include "src/functions/service/usage_hours.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::functions {

class UsageFile {
 public:
  // "/var/lib/kgpu/functions/usage.jsonl"; empty: nothing is read or written.
  explicit UsageFile(std::string path);

  // A file that cannot be read is kept as "….bad".
  void Read(UsageHours& hours) const;
  // Not to the disk each time: a power cut may cost the last minutes.
  void Write(UsageHours& hours) const;

 private:
  const sys::StateFile file_;
};

}  // namespace kgpu::functions
