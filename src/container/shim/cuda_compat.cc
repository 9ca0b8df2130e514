#include "src/container/shim/cuda_compat.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

constexpr std::string_view kLibcuda = "libcuda.so.1";

std::string_view NameOfPath(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view FolderOfPath(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string_view StemOf(std::string_view name) {
  return name.substr(0, name.find(".so"));
}

// "550.54.15" of "libcuda.so.550.54.15".
std::string_view VersionOf(std::string_view name) {
  const size_t at = name.find(".so.");
  return at == std::string_view::npos ? std::string_view() : name.substr(at + 4);
}

const CompatLibrary* FindByName(const CompatLibraries& compat, std::string_view name) {
  const auto found = std::ranges::find(compat.libraries, name, &CompatLibrary::name);
  return found == compat.libraries.end() ? nullptr : &*found;
}

const CompatLibrary* FindByStem(const CompatLibraries& compat, std::string_view stem) {
  const auto found = std::ranges::find(
      compat.libraries, stem, [](const CompatLibrary& library) { return StemOf(library.name); });
  return found == compat.libraries.end() ? nullptr : &*found;
}

}  // namespace

StatusOr<CompatLibraries> ReadCompatLibraries(const sys::Root& root, std::string_view folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, root.ListDir(folder));
  CompatLibraries compat;
  for (const std::string& name : names) {
    if (name.find(".so") == std::string::npos) {
      continue;
    }
    const StatusOr<std::string> real = root.Resolve(fmt::format("{}/{}", folder, name));
    if (real.ok()) {
      compat.libraries.push_back({name, std::string(NameOfPath(*real)), root.At(*real)});
    }
  }
  const CompatLibrary* libcuda = FindByName(compat, kLibcuda);
  if (libcuda == nullptr) {
    return NotFound("{} has no {}: install a cuda-compat package, or set its folder",
                    root.At(folder), kLibcuda);
  }
  compat.driver_version = VersionOf(libcuda->real_name);
  ASSIGN_OR_RETURN(const cuda::DriverVersion driver,
                   cuda::DriverVersion::Parse(compat.driver_version));
  const std::optional<cuda::CudaVersion> cuda = cuda::HighestCuda(driver);
  if (!cuda) {
    return InvalidArgument("{}: the CUDA version of driver {} is unknown", libcuda->host_path,
                           Printable(compat.driver_version, 40));
  }
  compat.cuda_version = cuda->str();
  return compat;
}

void UseCompatLibraries(const CompatLibraries& compat, const inject::InjectionIndex& index,
                        cdi::ContainerEdits& edits) {
  std::set<std::string_view> kept;  // files of the driver that are not for 64-bit programs
  for (const inject::IndexFile& file : index.files) {
    if (file.is_32bit) {
      kept.insert(file.host_path);
    }
  }
  std::map<std::string, std::vector<std::string>>
      folders;  // and how the driver's are mounted there
  for (cdi::Mount& mount : edits.mounts) {
    const std::string name(NameOfPath(mount.container_path));
    const CompatLibrary* library = FindByName(compat, name);
    if (library == nullptr) {
      library = FindByStem(compat, StemOf(name));
    }
    if (library == nullptr || kept.contains(mount.host_path)) {
      continue;
    }
    const std::string folder(FolderOfPath(mount.container_path));
    folders.emplace(folder, mount.options);
    mount.host_path = library->host_path;
    if (VersionOf(name) == index.driver_version) {
      mount.container_path = fmt::format("{}/{}", folder, library->real_name);
    }
  }
  // Names that this host's own driver does not have.
  for (const auto& [folder, options] : folders) {
    for (const CompatLibrary& library : compat.libraries) {
      std::string path = fmt::format("{}/{}", folder, library.name);
      if (std::ranges::find(edits.mounts, path, &cdi::Mount::container_path) ==
          edits.mounts.end()) {
        edits.mounts.push_back({library.host_path, std::move(path), options, ""});
      }
    }
  }
}

}  // namespace kgpu::shim
