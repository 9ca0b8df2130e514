#include "src/node/mps/find_program.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "src/host/inspect/driver_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::mps {
namespace {

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

bool IsOfDriver(std::string_view name) {
  return (name.starts_with("libcuda") || name.starts_with("libnvidia-")) &&
         name.find(".so") != std::string_view::npos;
}

// Replaces the link if it leads elsewhere.
Status Link(const std::string& target, const std::string& path) {
  std::error_code error;
  if (std::filesystem::read_symlink(path, error) == target) {
    return OkStatus();
  }
  std::filesystem::remove(path, error);
  std::filesystem::create_symlink(target, path, error);
  return error ? ErrnoStatus(error.value(), fmt::format("link {}", path)) : OkStatus();
}

Status LinkLibraries(const sys::Root& driver, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string nvml, host::FindNvmlLibrary(driver));
  // libcuda.so.1 is beside it.
  const std::string source = FolderOf(nvml);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, driver.ListDir(source));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create {}", folder));
  }
  for (const std::string& name : names) {
    if (!IsOfDriver(name)) {
      continue;
    }
    if (const auto real = driver.FollowLinks(fmt::format("{}/{}", source, name)); real.ok()) {
      RETURN_IF_ERROR(Link(*real, fmt::format("{}/{}", folder, name)));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Program> FindControlProgram(const sys::Root& driver, const std::string& library_folder) {
  const std::string path = sys::FindProgram(driver, kControlProgram);
  if (path.empty()) {
    return NotFound(
        "{} is not below {}: install the driver's compute utilities (Debian, Ubuntu: "
        "nvidia-compute-utils or nvidia-cuda-mps; RPM: nvidia-driver-cuda), or set share.by: "
        "memory",
        kControlProgram, driver.path());
  }
  // Links are the driver root's: followed here, they would lead out of it.
  ASSIGN_OR_RETURN(const std::string real, driver.FollowLinks(path));
  Program program{.path = real, .environment = {"LC_ALL=C"}};
  program.environment.push_back(
      fmt::format("PATH={}:{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                  FolderOf(program.path), driver.At(FolderOf(path))));
  if (driver.path() != "/") {
    RETURN_IF_ERROR(LinkLibraries(driver, library_folder));
    program.environment.push_back(fmt::format("LD_LIBRARY_PATH={}", library_folder));
  }
  return program;
}

bool ServesAllUsers(std::string_view version) {
  constexpr uint64_t kFirstBranch = 550;
  return ParseUint(version.substr(0, version.find('.'))).value_or(0) >= kFirstBranch;
}

}  // namespace kgpu::mps
