#include "src/host/inspect/enrolled_keys.h"

#include <vector>

#include <fmt/format.h>

namespace kgpu::host {
namespace {

constexpr std::string_view kVariables = "sys/firmware/efi/efivars";
constexpr std::string_view kWholeList = "sys/firmware/efi/mok-variables/MokListRT";

// The firmware's own list, and the variable by which a user tells shim to ignore it.
constexpr std::string_view kOwnList =
    "sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f";
constexpr std::string_view kIgnoresOwn =
    "sys/firmware/efi/efivars/MokIgnoreDB-605dab50-e046-4300-abb6-3dd810dd8b23";

// Shim's list, with each certificate in full. A list too long for a variable is split, and
// continues in MokListRT1 and so on; the kernel has all of it in a file that only root may read.
// Nothing: no list is shown. Source: efivarfs and mok-variables of the kernel.
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

bool IsInOwnList(const sys::Root& host, std::string_view key) {
  const auto list = host.Exists(kIgnoresOwn) ? StatusOr<std::string>(NotFound("it is ignored"))
                                             : host.ReadFile(kOwnList);
  return list.ok() && list->find(key) != std::string::npos;
}

}  // namespace

std::optional<bool> IsKeyEnrolled(const sys::Root& host, std::string_view key_file) {
  const auto key = host.ReadFile(key_file);
  if (!key.ok() || key->empty()) {
    return std::nullopt;
  }
  if (IsInOwnList(host, *key)) {
    return true;
  }
  const std::optional<std::string> list = EnrolledKeys(host);
  return list ? std::optional<bool>(list->find(*key) != std::string::npos) : std::nullopt;
}

}  // namespace kgpu::host
