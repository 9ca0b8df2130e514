#include "src/host/packages/package_list.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

struct Row {
  std::string_view name;
  std::string_view arch;
  Package package;
};

// The second letter is the state. Nothing: not installed, or no such line.
std::optional<State> StateOf(std::string_view abbreviation) {
  if (abbreviation.size() < 2) {
    return std::nullopt;
  }
  switch (abbreviation[1]) {
    case 'i':
    case 'W':  // waits for another's trigger, or has one pending: only an index is to be made again
    case 't':
      return State::kWhole;
    case 'H':
    case 'U':
    case 'F':
      return State::kUnfinished;
    case 'c':
      return State::kConfigOnly;
    default:
      return std::nullopt;
  }
}

// The architecture of the host: that of the package manager itself.
std::string_view NativeArch(const std::vector<Row>& rows, std::string_view manager) {
  const auto found = std::ranges::find(rows, manager, &Row::name);
  return found == rows.end() ? std::string_view() : found->arch;
}

bool IsForeign(std::string_view arch, std::string_view native) {
  return !native.empty() && arch != native && arch != "all" && arch != "noarch" &&
         arch != "(none)" && !arch.empty();
}

// Those of which several versions stand beside one another: keys, and kernels with their modules
// and headers for modules, but not what only begins with their name.
bool IsKeptBesideOlder(std::string_view name) {
  if (name == "gpg-pubkey") {
    return true;
  }
  constexpr std::array<std::string_view, 5> kNoKernels = {"-headers", "-tools", "-macros",
                                                          "-firmware", "-livepatch"};
  return name.starts_with("kernel") &&
         std::ranges::none_of(kNoKernels, [name](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

bool IsArch(std::string_view word) {
  constexpr std::array<std::string_view, 6> kArchs = {"x86_64", "aarch64", "noarch",
                                                      "i686",   "i586",    "i386"};
  return std::ranges::find(kArchs, word) != kArchs.end();
}

// Hosts are of 64 bits, so that these alone are foreign.
std::string KeyOf(std::string_view name, std::string_view arch) {
  return arch.starts_with('i') ? fmt::format("{}:{}", name, arch) : std::string(name);
}

// The value of `attribute` in an element: that of name="x" is x. A name has nothing to unescape but
// what no package is called.
std::string_view AttributeOf(std::string_view element, std::string_view attribute) {
  const std::string start = fmt::format(" {}=\"", attribute);
  const size_t at = element.find(start);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = element.substr(at + start.size());
  const size_t end = rest.find('"');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace

std::string_view WithoutEpoch(std::string_view version) {
  const size_t colon = version.find(':');
  return colon == std::string_view::npos ? version : version.substr(colon + 1);
}

std::string NameOf(std::string_view key, std::string_view version) {
  const size_t colon = key.rfind(':');
  const std::string_view arch = colon == std::string_view::npos ? "" : key.substr(colon);
  std::string_view name = key.substr(0, colon);
  const std::string end = fmt::format("-{}", WithoutEpoch(version));
  if (name.ends_with(end)) {
    name.remove_suffix(end.size());
  }
  return fmt::format("{}{}", name, arch);
}

PackageList ParseDpkgQuery(std::string_view text) {
  std::vector<Row> rows;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(line, '\t');
    if (fields.size() != 4 || fields[1].empty()) {
      continue;
    }
    if (const std::optional<State> state = StateOf(fields[0])) {
      rows.push_back({.name = fields[1],
                      .arch = fields[2],
                      .package = {.version = std::string(fields[3]), .state = *state}});
    }
  }
  const std::string_view native = NativeArch(rows, "dpkg");
  PackageList list;
  for (Row& row : rows) {
    std::string key = IsForeign(row.arch, native) ? fmt::format("{}:{}", row.name, row.arch)
                                                  : std::string(row.name);
    list[std::move(key)] = std::move(row.package);
  }
  return list;
}

PackageList ParseRpmQuery(std::string_view text) {
  std::vector<Row> rows;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(line, '\t');
    if (fields.size() == 3 && !fields[0].empty() && !fields[1].empty()) {
      rows.push_back(
          {.name = fields[0], .arch = fields[2], .package = {.version = std::string(fields[1])}});
    }
  }
  const std::string_view native = NativeArch(rows, "rpm");
  PackageList list;
  for (Row& row : rows) {
    std::string key(row.name);
    if (IsKeptBesideOlder(row.name) || list.contains(key)) {
      key = fmt::format("{}-{}", row.name, WithoutEpoch(row.package.version));
    }
    if (IsForeign(row.arch, native)) {
      key = fmt::format("{}:{}", key, row.arch);
    }
    list[std::move(key)] = std::move(row.package);
  }
  return list;
}

Simulated ParseAptSimulation(std::string_view text) {
  Simulated simulated;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 2) {
      continue;
    }
    if (words[0] == "Inst") {
      simulated.installed.emplace_back(words[1]);
    } else if (words[0] == "Remv" || words[0] == "Purg") {
      simulated.removed.emplace_back(words[1]);
    }
  }
  return simulated;
}

// Rows are "name arch version repository size"; dnf 4 and yum wrap those that are wider than the
// table: a row is recognized by its architecture. A replaced package has a row of its own,
// "replacing name.arch version" or, with dnf 5, "replacing name arch version".
std::set<std::string> ParseDnfTrial(std::string_view text) {
  std::set<std::string> names;
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  const std::vector<std::string_view> words = Words(line);
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view before = words[i - 1];
    const size_t dot = words[i].rfind('.');
    if (IsArch(words[i]) && !IsArch(before)) {
      names.insert(KeyOf(before, words[i]));
    } else if (before == "replacing" && dot != std::string_view::npos &&
               IsArch(words[i].substr(dot + 1))) {
      names.insert(KeyOf(words[i].substr(0, dot), words[i].substr(dot + 1)));
    }
  }
  return names;
}

std::set<std::string> ParseZypperTrial(std::string_view text) {
  constexpr std::string_view kElement = "<solvable ";
  std::set<std::string> names;
  for (size_t at = text.find(kElement); at != std::string_view::npos;
       at = text.find(kElement, at + 1)) {
    const std::string_view element = text.substr(at, text.find('>', at) - at);
    const std::string_view name = AttributeOf(element, "name");
    if (AttributeOf(element, "type") == "package" && !name.empty()) {
      names.insert(KeyOf(name, AttributeOf(element, "arch")));
    }
  }
  return names;
}

std::vector<std::string> ParseRpmNeeds(std::string_view text) {
  constexpr std::string_view kMark = " is needed by (installed) ";
  std::vector<std::string> names;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t at = line.find(kMark);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string name(Trim(line.substr(at + kMark.size())));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> ParseRpmVerify(std::string_view text) {
  constexpr std::string_view kMark = "  c /";
  std::vector<std::string> paths;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t at = line.find(kMark);
    if (at != std::string_view::npos && !line.starts_with("missing") &&
        line.substr(0, at).find('5') != std::string_view::npos) {
      paths.emplace_back(line.substr(at + kMark.size() - 1));
    }
  }
  return paths;
}

}  // namespace kgpu::packages
