#include "src/functions/service/folders.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace kgpu::functions {

Status MakeFolder(const std::string& path, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || chmod(path.c_str(), mode) != 0) {
    return ErrnoStatus(error ? error.value() : errno, "create " + path);
  }
  return OkStatus();
}

}  // namespace kgpu::functions
