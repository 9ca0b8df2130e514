#include "src/driver/packages.h"

#include <vector>

#include "src/base/strings.h"

namespace kgpu::driver {
namespace {

// "Name: value"; empty for another field.
std::string_view FieldOf(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) {
    return {};
  }
  return Trim(line.substr(name.size() + 1));
}

struct Paragraph {
  std::string_view name;
  std::string_view status;
  std::string_view version;
};

void Keep(const Paragraph& paragraph, Packages& packages) {
  const std::vector<std::string_view> status = Words(paragraph.status);
  if (paragraph.name.empty() || status.size() != 3 || status[2] != "installed") {
    return;
  }
  packages[std::string(paragraph.name)] = {std::string(paragraph.version), status[0] == "hold"};
}

}  // namespace

Packages ParseDpkgStatus(std::string_view text) {
  Packages packages;
  Paragraph paragraph;
  for (const std::string_view line : Split(text, '\n')) {
    if (Trim(line).empty()) {
      Keep(paragraph, packages);
      paragraph = {};
    } else if (const std::string_view name = FieldOf(line, "Package"); !name.empty()) {
      paragraph.name = name;
    } else if (const std::string_view status = FieldOf(line, "Status"); !status.empty()) {
      paragraph.status = status;
    } else if (const std::string_view version = FieldOf(line, "Version"); !version.empty()) {
      paragraph.version = version;
    }
  }
  Keep(paragraph, packages);
  return packages;
}

Packages ParseRpmList(std::string_view text) {
  Packages packages;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(Trim(line), '\t');
    if (fields.size() == 2 && !fields[0].empty() && !fields[1].empty()) {
      packages[std::string(fields[0])] = {std::string(fields[1]), false};
    }
  }
  return packages;
}

std::string UpstreamVersion(std::string_view version) {
  if (const size_t colon = version.find(':'); colon != std::string_view::npos) {
    version.remove_prefix(colon + 1);
  }
  return std::string(version.substr(0, version.find_first_of("-~+_")));
}

}  // namespace kgpu::driver
