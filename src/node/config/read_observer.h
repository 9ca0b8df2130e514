// Receives what a reader expects of each value of a document, whatever the document contains: what
// the reader accepts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kgpu::config {

// `path` is Node::path().
class ReadObserver {
 public:
  virtual ~ReadObserver() = default;

  // A map with these keys.
  virtual void OnFields(const std::string& path, std::span<const std::string_view> known) = 0;
  // A map with any keys.
  virtual void OnAnyFields(const std::string& path) = 0;
  virtual void OnItems(const std::string& path) = 0;
  virtual void OnString(const std::string& path) = 0;
  virtual void OnWords(const std::string& path, std::span<const std::string_view> words) = 0;
  virtual void OnBool(const std::string& path) = 0;
  virtual void OnNumber(const std::string& path, uint64_t low, uint64_t high) = 0;
};

}  // namespace kgpu::config
