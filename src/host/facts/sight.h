// Reads a host's files and keeps what may not be seen.
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
  // Both outlive it. `unreadable` gets a sentence for each file that is there and cannot be read,
  // once.
  Sight(const sys::Root& host, std::vector<std::string>& unreadable)
      : host_(host), unreadable_(unreadable) {}

  const sys::Root& host() const { return host_; }

  // Nothing where there is no such file, or it cannot be read.
  std::optional<std::string> Text(std::string_view path, size_t limit = sys::kDefaultReadLimit);
  // Text without blanks at its ends; "" for nothing.
  std::string Line(std::string_view path);
  std::optional<uint64_t> Number(std::string_view path);
  std::vector<std::string> Names(std::string_view folder);
  // The last `count` bytes of a file, or fewer.
  std::optional<std::string> Tail(std::string_view path, size_t count);

  // Keeps why something could not be seen; what is not there is not reported.
  void Note(const Status& status);
  void Say(std::string_view sentence);

 private:
  const sys::Root& host_;
  std::vector<std::string>& unreadable_;
};

}  // namespace kgpu::host
