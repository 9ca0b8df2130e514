// Puts files into a bundle: without secrets, and within its limits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "src/diagnose/collect/collect.h"

namespace kgpu::collect {

class BundleBuilder {
 public:
  explicit BundleBuilder(std::function<void(std::string_view name)> begin)
      : begin_(std::move(begin)) {}

  // For people: this is next.
  void Begin(std::string_view name) const;
  // Removes the text's secrets. Too much is a problem.
  void Add(std::string path, std::string text);
  // A file that has nothing but secrets.
  void LeaveOut(const std::string& path) { bundle_.removed[path]["whole file"] = 1; }
  void Problem(std::string_view name, std::string_view why);
  Bundle Take() { return std::move(bundle_); }

 private:
  std::function<void(std::string_view name)> begin_;
  size_t size_ = 0;
  Bundle bundle_;
};

}  // namespace kgpu::collect
