// Reads a host's files for the doctor and keeps what it may not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::doctor {

class Sight {
 public:
  // Both outlive it. `unseen` gets a sentence for each file that is there and can not be read.
  Sight(const sys::Root& host, std::vector<std::string>& unseen) : host_(host), unseen_(unseen) {}

  const sys::Root& host() const { return host_; }

  // Nothing where there is no such file, or it can not be read.
  std::optional<std::string> Text(std::string_view path, size_t limit = sys::kDefaultReadLimit);
  // Text without blanks at its ends; "" for nothing.
  std::string Line(std::string_view path);
  std::optional<uint64_t> Number(std::string_view path);
  std::vector<std::string> Names(std::string_view folder);
  // The last `count` bytes of a file, or fewer.
  std::optional<std::string> Tail(std::string_view path, size_t count);

  // Keeps why something could not be seen; what is not there is no news.
  void Note(const Status& status);
  void Say(std::string sentence) { unseen_.push_back(std::move(sentence)); }

 private:
  const sys::Root& host_;
  std::vector<std::string>& unseen_;
};

}  // namespace kgpu::doctor
