#include "src/diagnose/collect/bundle_builder.h"

#include <fmt/format.h>

#include <map>

#include "src/diagnose/collect/redact.h"

namespace kgpu::collect {

void BundleBuilder::Begin(std::string_view name) const {
  if (begin_) {
    begin_(name);
  }
}

void BundleBuilder::Add(std::string path, std::string text) {
  if (size_ + text.size() > kMostOfAll) {
    Problem(path, fmt::format("left out: the archive has {} MiB already", size_ >> 20));
    return;
  }
  std::map<std::string, size_t> removed;
  RemoveSecrets(text, removed);
  if (!removed.empty()) {
    bundle_.removed[path] = std::move(removed);
  }
  size_ += text.size();
  bundle_.files.push_back({.path = std::move(path), .text = std::move(text)});
}

void BundleBuilder::Problem(std::string_view name, std::string_view why) {
  bundle_.problems.push_back(fmt::format("{}: {}", name, why));
}

}  // namespace kgpu::collect
