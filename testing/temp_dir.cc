#include "testing/temp_dir.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace kgpu {

namespace fs = std::filesystem;

TempDir::TempDir() {
  // Short on purpose: unix socket paths end at 107 bytes.
  std::string path = (fs::temp_directory_path() / "kgpu-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("mkdtemp " + path);
  }
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempDir::At(std::string_view relative) const {
  return (fs::path(path_) / fs::path(relative).relative_path()).string();
}

void TempDir::MakeDir(std::string_view relative) const {
  fs::create_directories(At(relative));
}

void TempDir::WriteFile(std::string_view relative, std::string_view bytes) const {
  fs::create_directories(fs::path(At(relative)).parent_path());
  std::ofstream out(At(relative), std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) {
    throw std::runtime_error("write " + At(relative));
  }
}

void TempDir::Symlink(std::string_view target, std::string_view relative) const {
  fs::create_directories(fs::path(At(relative)).parent_path());
  fs::create_symlink(target, At(relative));
}

bool TempDir::MakeCharDevice(std::string_view relative, unsigned major, unsigned minor) const {
  fs::create_directories(fs::path(At(relative)).parent_path());
  return mknod(At(relative).c_str(), S_IFCHR | 0666, makedev(major, minor)) == 0;
}

std::string TempDir::ReadFile(std::string_view relative) const {
  std::ifstream in(At(relative), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace kgpu
