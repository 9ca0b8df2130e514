// Reads a host's files and records which ones are unreadable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::host {

class Sight {
 public:
  // Both must outlive it. `unreadable` gets one sentence for each file that exists but cannot be
  // read.
  Sight(const sys::Root& host, std::vector<std::string>& unreadable)
      : host_(host), unreadable_(unreadable) {}

  const sys::Root& host() const { return host_; }

  // Nothing if the file does not exist or cannot be read.
  std::optional<std::string> Text(std::string_view path, size_t limit = sys::kDefaultReadLimit);
  // The text without leading and trailing blanks; "" if there is none.
  std::string Line(std::string_view path);
  std::optional<uint64_t> Number(std::string_view path);
  std::vector<std::string> Names(std::string_view folder);
  // At most the last `count` bytes of a file.
  std::optional<std::string> Tail(std::string_view path, size_t count);

  // Records why something could not be read; ignores files that do not exist.
  void Note(const Status& status);
  void Say(std::string_view sentence);

 private:
  const sys::Root& host_;
  std::vector<std::string>& unreadable_;
};

}  // namespace kgpu::host
