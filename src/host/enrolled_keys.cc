#include "src/host/enrolled_keys.h"

#include <vector>

#include <fmt/format.h>

namespace kgpu::host {
namespace {

constexpr std::string_view kVariables = "sys/firmware/efi/efivars";
constexpr std::string_view kWholeList = "sys/firmware/efi/mok-variables/MokListRT";

}  // namespace

std::optional<std::string> EnrolledKeys(const sys::Root& host) {
  if (auto whole = host.ReadFile(kWholeList); whole.ok()) {
    return *std::move(whole);
  }
  const auto names = host.ListDir(kVariables);
  std::optional<std::string> list;
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto part = name.starts_with("MokListRT")
                          ? host.ReadFile(fmt::format("{}/{}", kVariables, name))
                          : StatusOr<std::string>(NotFound("{}: another variable", name));
    if (part.ok()) {
      list = list.value_or("") + *part;
    }
  }
  return list;
}

std::optional<bool> IsKeyEnrolled(const sys::Root& host, std::string_view key_file) {
  const auto key = host.ReadFile(key_file);
  const std::optional<std::string> list = EnrolledKeys(host);
  if (!key.ok() || key->empty() || !list) {
    return std::nullopt;
  }
  return list->find(*key) != std::string::npos;
}

}  // namespace kgpu::host
