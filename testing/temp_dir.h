// A temporary folder of the test, removed with everything in it at the end.
#pragma once

#include <string>
#include <string_view>

namespace kgpu {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string At(std::string_view relative) const;
  // Also creates the folders above it.
  void WriteFile(std::string_view relative, std::string_view bytes) const;
  void MakeDir(std::string_view relative) const;
  void Symlink(std::string_view target, std::string_view relative) const;
  // A character device; false if creating one is not permitted (tests then skip).
  bool MakeCharDevice(std::string_view relative, unsigned major, unsigned minor) const;
  // The whole file, or "" if it is unreadable.
  std::string ReadFile(std::string_view relative) const;

 private:
  std::string path_;
};

}  // namespace kgpu
