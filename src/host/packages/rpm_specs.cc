#include "src/host/packages/rpm_specs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace kgpu::packages {
namespace {

// "kernel-devel-5.14.0-1.el9.x86_64" as keys of a list are written.
std::string WithoutArch(std::string name) {
  for (const std::string_view arch : {".x86_64", ".aarch64", ".noarch"}) {
    if (name.ends_with(arch)) {
      name.resize(name.size() - arch.size());
    }
  }
  return name;
}

// A request as "name=version".
struct Asked {
  std::string key;  // as Installed() has it, or the name alone
  std::string version;
};

// Nothing: no version is requested, or it is a bound, a path or a URL.
std::optional<Asked> ParseAsked(const std::string& asked) {
  const size_t equals = asked.rfind('=');
  if (equals == std::string::npos || asked.find_first_of("</>") != std::string::npos) {
    return std::nullopt;
  }
  return Asked{.key = asked.substr(0, equals), .version = asked.substr(equals + 1)};
}

// Whether "5.14.0" or "5.14.0-1" was meant by "3:5.14.0-1".
bool IsOfVersion(std::string_view version, std::string_view wanted) {
  const std::string_view plain = WithoutEpoch(version);
  return wanted == version || wanted == plain || wanted == plain.substr(0, plain.find('-'));
}

bool IsThere(const PackageList& list, const std::string& asked) {
  if (const std::optional<Asked> exact = ParseAsked(asked); exact) {
    return std::ranges::any_of(list, [&exact](const auto& entry) {
      const auto& [key, package] = entry;
      return (key == exact->key || NameOf(key, package.version) == exact->key) &&
             IsOfVersion(package.version, exact->version);
    });
  }
  const std::string name = WithoutArch(asked);
  return list.contains(name) || std::ranges::any_of(list, [&name](const auto& entry) {
           const std::string_view version = WithoutEpoch(entry.second.version);
           return name == fmt::format("{}-{}", entry.first, version) ||
                  name == fmt::format("{}-{}", entry.first, version.substr(0, version.find('-')));
         });
}

}  // namespace

std::vector<std::string> Missing(const std::vector<std::string>& names, const PackageList& list) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [&list](const std::string& name) { return !IsThere(list, name); });
  return missing;
}

std::string SpecOf(std::string key) {
  if (const size_t colon = key.rfind(':'); colon != std::string::npos) {
    key[colon] = '.';
  }
  return key;
}

std::string RemovalSpecOf(Front front, const std::string& key, const std::string& version) {
  const std::string name = NameOf(key, version);
  return front != Front::kZypper || name == key
             ? SpecOf(key)
             : fmt::format("{}={}", SpecOf(name), WithoutEpoch(version));
}

std::string WholeSpecOf(Front front, const std::string& key, const std::string& version) {
  const std::string name = NameOf(key, version);
  if (front == Front::kZypper) {
    return fmt::format("{}={}", SpecOf(name), version);
  }
  const size_t colon = name.rfind(':');
  const std::string arch =
      colon == std::string::npos ? "" : fmt::format(".{}", name.substr(colon + 1));
  return fmt::format("{}-{}{}", name.substr(0, colon), version, arch);
}

std::string InstallSpecOf(Front front, const std::string& asked) {
  const std::optional<Asked> exact = ParseAsked(asked);
  return exact ? WholeSpecOf(front, exact->key, exact->version) : asked;
}

std::string KeyOf(const PackageList& list, std::string_view named) {
  for (const auto& [key, package] : list) {
    const std::string name = key.substr(0, key.rfind(':'));
    const std::string_view version =
        std::string_view(package.version).substr(package.version.find(':') + 1);
    const std::string whole = name.ends_with(version) ? name : fmt::format("{}-{}", name, version);
    const bool is_of_key =
        named.starts_with(whole) ||
        named.starts_with(fmt::format("{}-{}", name, std::string_view(package.version)));
    const size_t colon = key.rfind(':');
    if (is_of_key && (colon == std::string::npos || named.ends_with(key.substr(colon + 1)))) {
      return key;
    }
  }
  return "";
}

}  // namespace kgpu::packages
