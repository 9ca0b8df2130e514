#include "src/setup/driver/module_facts.h"

#include "src/platform/base/strings.h"

namespace kgpu::driver {

std::string ModuleInfo::kernel() const {
  return vermagic.substr(0, vermagic.find(' '));
}

ModuleInfo ParseModinfo(std::string_view text) {
  ModuleInfo info;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string value(Trim(line.substr(colon + 1)));
    if (name == "filename") {
      info.path = value;
    } else if (name == "version") {
      info.version = value;
    } else if (name == "license") {
      info.license = value;
    } else if (name == "vermagic") {
      info.vermagic = value;
    } else if (name == "signer") {
      info.signer = value;
    }
  }
  return info;
}

std::vector<DkmsEntry> ParseDkmsStatus(std::string_view text) {
  std::vector<DkmsEntry> entries;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    std::vector<std::string_view> parts = Split(line.substr(0, colon), ',');
    for (std::string_view& part : parts) {
      part = Trim(part);
    }
    if (const size_t slash = parts[0].find('/'); slash != std::string_view::npos) {
      const std::string_view version = parts[0].substr(slash + 1);
      parts[0] = parts[0].substr(0, slash);
      parts.insert(parts.begin() + 1, version);
    }
    if (parts.size() != 2 && parts.size() != 4) {
      continue;
    }
    DkmsEntry entry;
    entry.module = parts[0];
    entry.version = parts[1];
    if (parts.size() == 4) {
      entry.kernel = parts[2];
      entry.arch = parts[3];
    }
    // "installed (original_module exists)", "installed (WARNING! Missing some built modules!)"
    const std::string_view rest = line.substr(colon + 1);
    const std::vector<std::string_view> words = Words(rest);
    entry.state = words.empty() ? "" : Trim(words[0]);
    constexpr std::string_view kWarning = "(WARNING! ";
    if (const size_t at = rest.find(kWarning); at != std::string_view::npos) {
      const std::string_view warning = rest.substr(at + kWarning.size());
      entry.warning = warning.substr(0, warning.find(')'));
    }
    if (!entry.module.empty() && !entry.version.empty()) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace kgpu::driver
