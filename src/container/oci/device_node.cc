#include "src/container/oci/device_node.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string_view>

#include "src/platform/base/strings.h"

namespace kgpu::oci {
namespace {

std::string_view TypeOf(mode_t mode) {
  if (S_ISCHR(mode)) {
    return "c";
  }
  if (S_ISBLK(mode)) {
    return "b";
  }
  return S_ISFIFO(mode) ? "p" : "";
}

}  // namespace

StatusOr<FilledNode> FillNode(const cdi::DeviceNode& given, const sys::Root& engine) {
  FilledNode node{given.type, given.major.value_or(0), given.minor.value_or(0), given.file_mode};
  const bool is_enough = !node.type.empty() && (node.major != 0 || node.type == "p");
  if (is_enough && node.file_mode) {
    return node;
  }
  const std::string& path = given.host_path.empty() ? given.path : given.host_path;
  const StatusOr<struct stat> found = engine.LinkStat(path);
  if (!found.ok() || TypeOf(found->st_mode).empty()) {
    if (is_enough) {
      return node;
    }
    return found.ok() ? InvalidArgument("device node {}: {} is not a device", Printable(given.path),
                                        Printable(path))
                      : Annotate(found.status(), "device node {}", Printable(given.path));
  }
  if (!node.file_mode) {
    node.file_mode = found->st_mode & ~static_cast<uint32_t>(S_IFMT);
  }
  if (is_enough) {
    return node;
  }
  const std::string_view type = TypeOf(found->st_mode);
  if (node.type.empty()) {
    node.type = type;
  }
  if (node.type != type) {
    return InvalidArgument("device node {} is of type {}, {} on the host is of type {}",
                           Printable(given.path), node.type, Printable(path), type);
  }
  if (node.type != "p" && node.major == 0) {
    node.major = major(found->st_rdev);
    node.minor = minor(found->st_rdev);
  }
  return node;
}

}  // namespace kgpu::oci
