#include "src/setup/driver/run_file.h"

#include <vector>

#include "src/host/inspect/driver_facts.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

// The value of `name="value"` at the beginning of a line of a shell script, without quotes.
std::string_view VariableOf(std::string_view head, std::string_view name) {
  for (std::string_view line : Split(head, '\n')) {
    line = Trim(line);
    const size_t equals = line.find('=');
    if (equals != name.size() || ToLower(line.substr(0, equals)) != name) {
      continue;
    }
    std::string_view value = Trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return {};
}

// The last driver's version among the parts of a text: "12.4.1_550.54.15" → "550.54.15". A driver's
// branch has three digits, CUDA's versions have not.
std::string LastVersion(std::string_view text) {
  std::string found;
  size_t at = 0;
  while ((at = text.find_first_of("0123456789", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    std::string_view word = text.substr(at, end - at);
    while (word.ends_with('.')) {
      word.remove_suffix(1);
    }
    if (host::IsDriverVersion(word) && word.find('.') == 3) {
      found = word;
    }
    at = end;
  }
  return found;
}

std::string ArchOf(std::string_view text) {
  for (const std::string_view arm : {"aarch64", "arm64", "sbsa"}) {
    if (text.find(arm) != std::string_view::npos) {
      return "aarch64";
    }
  }
  const bool is_intel =
      text.find("x86_64") != std::string_view::npos || text.find("amd64") != std::string_view::npos;
  return is_intel ? "x86_64" : "";
}

StatusOr<DriverFile> ParseRun(std::string_view path, std::string_view name, std::string_view head) {
  if (!head.starts_with("#!")) {
    return InvalidArgument(
        "{}: not an installer: it does not begin like a script: download it again", path);
  }
  DriverFile file;
  file.path = path;
  const std::string_view label = VariableOf(head, "label");
  const std::string_view folder = VariableOf(head, "targetdir");
  if (label.find("NVIDIA Accelerated Graphics Driver") != std::string_view::npos ||
      folder.starts_with("NVIDIA-Linux-")) {
    file.kind = FileKind::kDriverRun;
    file.version = LastVersion(label.empty() ? folder : label);
    file.arch = ArchOf(label.empty() ? folder : label);
  } else if (label.starts_with("CUDA") || name.starts_with("cuda_")) {
    file.kind = FileKind::kCudaRun;
    file.version = LastVersion(name);
    // Its name contains only the other architecture.
    file.arch = ArchOf(name).empty() ? "x86_64" : ArchOf(name);
  } else {
    return InvalidArgument(
        "{}: neither the driver's nor CUDA's installer by NVIDIA: its label is \"{}\"", path,
        Printable(label, 60));
  }
  return file;
}

StatusOr<DriverFile> ParseRepository(std::string_view path, std::string_view name,
                                     std::string_view head, bool is_deb) {
  constexpr std::string_view kArchive = "!<arch>\n";
  constexpr std::string_view kRpm = "\xed\xab\xee\xdb";
  if (!head.starts_with(is_deb ? kArchive : kRpm)) {
    return InvalidArgument("{}: not a package of this kind: download it again", path);
  }
  DriverFile file;
  file.kind = is_deb ? FileKind::kLocalDeb : FileKind::kLocalRpm;
  file.path = path;
  file.version = LastVersion(name);
  file.arch = ArchOf(name);
  // name_version-revision_architecture.deb; name-version-release.architecture.rpm
  file.package = name.substr(0, name.find('_'));
  if (!is_deb) {
    std::string_view stem = name.substr(0, name.rfind('-'));
    file.package = stem.substr(0, stem.rfind('-'));
  }
  if (name.find("repo") == std::string_view::npos) {
    return InvalidArgument(
        "{}: not a local repository package, which NVIDIA names nvidia-driver-local-repo-… or "
        "cuda-repo-…-local",
        path);
  }
  return file;
}

}  // namespace

StatusOr<DriverFile> ParseDriverFile(std::string_view path, std::string_view head) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  StatusOr<DriverFile> file = name.ends_with(".deb") || name.ends_with(".rpm")
                                  ? ParseRepository(path, name, head, name.ends_with(".deb"))
                                  : ParseRun(path, name, head);
  if (file.ok() && file->version.empty()) {
    return InvalidArgument("{}: the name does not contain the driver's version", path);
  }
  return file;
}

}  // namespace kgpu::driver
