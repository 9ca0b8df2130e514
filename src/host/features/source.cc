#include "src/host/features/source.h"

namespace kgpu::features {

void Source::ComplainOf(std::string_view path, int error) const {
  if (error == ENOENT || error == ENOTDIR) {
    return;
  }
  Complain("{}", Message(ErrnoStatus(error, fmt::format("read {}", host.At(path)))));
}

std::optional<std::string> Source::Text(const std::string& path) const {
  FileText file = ReadAttribute(host, path.c_str());
  if (!file.ok()) {
    ComplainOf(path, file.error);
    return std::nullopt;
  }
  return std::move(file.text);
}

std::vector<std::string> Source::List(std::string_view path) const {
  StatusOr<std::vector<std::string>> names = host.ListDir(path);
  if (!names.ok()) {
    if (names.status().code() != StatusCode::kNotFound) {
      Complain("{}", Message(names.status()));
    }
    return {};
  }
  return *std::move(names);
}

}  // namespace kgpu::features
