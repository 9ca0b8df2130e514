#include "src/container/inject/host_parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "src/container/inject/file_table.h"
#include "src/host/inspect/driver_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::inject {
namespace {

NodePart MakeNode(const host::DriverRoot& root, host::DeviceFile file) {
  std::string engine_path = root.EnginePath(root.host, file.path);
  return {std::move(file), std::move(engine_path)};
}

void AddNodes(const host::DriverRoot& root, const device::Snapshot& snapshot,
              host::DeviceNodes nodes, HostParts& parts) {
  for (host::GpuNode& gpu : nodes.gpus) {
    parts.gpus.emplace_back(gpu.gpu_minor, MakeNode(root, std::move(gpu.node)));
  }
  for (host::CapNode& cap : nodes.caps) {
    parts.caps.emplace_back(cap.cap_minor, MakeNode(root, std::move(cap.node)));
  }
  for (std::optional<host::DeviceFile>* node : {&nodes.control, &nodes.uvm, &nodes.uvm_tools}) {
    if (*node) {
      parts.control.push_back(MakeNode(root, *std::move(*node)));
    }
  }
  if (nodes.modeset) {
    parts.graphics.push_back(MakeNode(root, *std::move(nodes.modeset)));
  }
  if (!nodes.control) {
    parts.notes.emplace_back(
        "/dev/nvidiactl not found, without which no GPU can be opened: run nvidia-modprobe -c 255");
  }
  if (!nodes.uvm) {
    parts.notes.emplace_back(
        "/dev/nvidia-uvm not found, without which CUDA cannot start: run nvidia-modprobe -u -c 0");
  }
  for (const device::Gpu& gpu : snapshot.gpus) {
    for (host::DeviceFile& file : host::ReadDriNodes(root.host, gpu.pci)) {
      parts.dri.emplace_back(gpu.pci, MakeNode(root, std::move(file)));
    }
  }
  parts.notes.insert(parts.notes.end(), nodes.problems.begin(), nodes.problems.end());
}

// Looks for the files of the tables; the first place of a container path wins.
class FileFinder {
 public:
  FileFinder(const host::DriverRoot& root, HostParts& parts) : root_(root), parts_(parts) {}

  void FindPrograms() {
    for (const ProgramRow& program : kPrograms) {
      for (const std::string_view folder : kProgramFolders) {
        if (Add(fmt::format("/usr/bin/{}", program.name),
                fmt::format("{}/{}", folder, program.name), program.needed_by)) {
          break;
        }
      }
    }
  }

  void FindFiles() {
    for (const FileRow& row : kFiles) {
      std::string folder(row.folder);
      if (const size_t at = folder.find("{}"); at != std::string::npos) {
        folder.replace(at, 2, parts_.driver_version);
      }
      const StatusOr<std::vector<std::string>> names = root_.driver.ListDir(folder);
      if (!names.ok()) {
        continue;
      }
      for (const std::string& name : *names) {
        if (name.starts_with(row.prefix) && name.ends_with(row.suffix) && IsNvidias(name)) {
          const std::string path = fmt::format("/{}/{}", folder, name);
          Add(path, path, row.needed_by);
        }
      }
    }
  }

  // The daemons run beside the driver's files or on the host itself.
  void FindSockets() {
    for (const SocketRow& row : kSockets) {
      for (const sys::Root* place : {&root_.driver, &root_.host}) {
        const StatusOr<struct stat> status = place->Stat(row.path);
        const std::string container_path = fmt::format("/{}", row.path);
        if (status.ok() && S_ISSOCK(status->st_mode) && seen_.insert(container_path).second) {
          parts_.files.push_back({container_path, root_.EnginePath(*place, row.path), row.needed_by,
                                  /*is_socket=*/true});
        }
      }
    }
  }

 private:
  // egl_external_platform.d belongs to several vendors.
  static bool IsNvidias(std::string_view name) {
    return name.find("nvidia") != std::string_view::npos || name.starts_with("nvoptix") ||
           name.starts_with("gsp");
  }

  bool Add(const std::string& container_path, const std::string& path, CapabilitySet needed_by) {
    StatusOr<std::string> real = root_.driver.Resolve(path);
    if (!real.ok()) {
      return false;
    }
    // The same real file under two paths of one host (/lib and /usr/lib) is mounted once.
    if (seen_.insert(container_path).second && seen_files_.insert(*real).second) {
      parts_.files.push_back(
          {container_path, root_.EnginePath(root_.driver, *real), needed_by, /*is_socket=*/false});
    }
    return true;
  }

  const host::DriverRoot& root_;
  HostParts& parts_;
  std::set<std::string> seen_;
  std::set<std::string> seen_files_;
};

}  // namespace

StatusOr<HostParts> FindHostParts(const host::DriverRoot& root, const device::Snapshot& snapshot) {
  const std::string& wanted = snapshot.driver.module_version.empty()
                                  ? snapshot.driver.version
                                  : snapshot.driver.module_version;
  ASSIGN_OR_RETURN(host::DriverFiles files, host::FindDriverFiles(root.driver, wanted));
  if (!wanted.empty() && files.version != wanted) {
    return FailedPrecondition(
        "the loaded kernel module has version {}, the libraries below {} have {}: restart the host "
        "or reload the module, or set the path of the libraries {} with --driver-root",
        wanted, root.driver.path(), Join(files.versions, ", "), wanted);
  }
  HostParts parts;
  parts.driver_version = files.version;
  parts.machine = files.machine;
  parts.notes = std::move(files.problems);
  for (host::DriverLibrary& library : files.libraries) {
    parts.libraries.push_back({std::move(library.name), std::move(library.soname),
                               root.EnginePath(root.driver, library.path), library.machine});
  }
  ASSIGN_OR_RETURN(host::DeviceNodes nodes, host::ReadDeviceNodes(root.host));
  AddNodes(root, snapshot, std::move(nodes), parts);
  FileFinder finder(root, parts);
  finder.FindPrograms();
  finder.FindFiles();
  finder.FindSockets();
  std::ranges::sort(parts.files, {}, &FilePart::container_path);
  return parts;
}

}  // namespace kgpu::inject
