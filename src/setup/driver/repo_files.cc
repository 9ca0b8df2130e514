#include "src/setup/driver/repo_files.h"

#include <fnmatch.h>

#include <optional>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kOverrides = "etc/dnf/repos.override.d";

bool IsTrue(std::string_view value) {
  const std::string text = ToLower(value);
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

void Take(std::string_view key, std::string_view value, RpmRepository& repository) {
  if (key == "enabled") {
    repository.is_enabled = IsTrue(value);
  } else if (key == "baseurl" || key == "mirrorlist" || key == "metalink") {
    repository.url = value;
  }
}

// The sections of an INI file and what `take` gets of each of their keys.
template <typename Section, typename Taker>
std::vector<Section> ParseSections(std::string_view text, Taker take) {
  std::vector<Section> all;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') {
      continue;
    }
    if (line.front() == '[') {
      all.emplace_back();
      all.back().id = line.substr(1, line.find(']') - 1);
    } else if (const size_t at = line.find('='); !all.empty() && at != std::string_view::npos) {
      take(Trim(line.substr(0, at)), Trim(line.substr(at + 1)), all.back());
    }
  }
  return all;
}

// The admin's settings by dnf 5's config-manager, apart from the files: ids may be patterns.
struct Override {
  std::string id;
  std::optional<bool> is_enabled;
};

void TakeOverride(std::string_view key, std::string_view value, Override& section) {
  if (key == "enabled") {
    section.is_enabled = IsTrue(value);
  }
}

void Apply(const std::vector<Override>& overrides, std::vector<RpmRepository>& repositories) {
  for (const Override& one : overrides) {
    for (RpmRepository& repository : repositories) {
      if (one.is_enabled && fnmatch(one.id.c_str(), repository.id.c_str(), 0) == 0) {
        repository.is_enabled = *one.is_enabled;
      }
    }
  }
}

// In the order of their names, as ListDir gives them.
std::vector<std::string> FilesIn(const sys::Root& host, std::string_view folder) {
  std::vector<std::string> paths;
  for (const std::string& name : host.ListDir(folder).value_or(std::vector<std::string>())) {
    if (name.ends_with(".repo")) {
      paths.push_back(fmt::format("/{}/{}", folder, name));
    }
  }
  return paths;
}

}  // namespace

std::vector<RpmRepository> ParseRepoFile(std::string_view text, std::string_view file) {
  std::vector<RpmRepository> all = ParseSections<RpmRepository>(text, Take);
  for (RpmRepository& repository : all) {
    repository.file = file;
  }
  return all;
}

std::vector<RpmRepository> ReadRpmRepositories(const sys::Root& host) {
  std::vector<RpmRepository> all;
  for (const std::string_view folder : {"etc/yum.repos.d", "etc/zypp/repos.d"}) {
    for (const std::string& path : FilesIn(host, folder)) {
      for (RpmRepository& one : ParseRepoFile(host.ReadFile(path).value_or(""), path)) {
        all.push_back(std::move(one));
      }
    }
  }
  for (const std::string& path : FilesIn(host, kOverrides)) {
    const std::string text = host.ReadFile(path).value_or("");
    Apply(ParseSections<Override>(text, TakeOverride), all);
  }
  return all;
}

ModuleStream ReadModuleStream(const sys::Root& host, std::string_view module) {
  const std::string path = fmt::format("etc/dnf/modules.d/{}.module", module);
  ModuleStream stream;
  std::string state;
  const std::string text = host.ReadFile(path).value_or("");
  for (const std::string_view line : Split(text, '\n')) {
    const size_t at = line.find('=');
    const std::string_view key = Trim(line.substr(0, at));
    const std::string_view value = at == std::string_view::npos ? "" : Trim(line.substr(at + 1));
    if (key == "stream") {
      stream.name = value;
    } else if (key == "state") {
      state = value;
    }
  }
  stream.is_disabled = state == "disabled";
  if (state != "enabled") {
    stream.name.clear();
  }
  return stream;
}

std::vector<std::string> ReadLockedVersions(const sys::Root& host) {
  const auto text = host.ReadFile("etc/dnf/plugins/versionlock.list");
  std::vector<std::string> entries;
  for (const std::string_view line : Split(text.ok() ? std::string_view(*text) : "", '\n')) {
    const std::string_view entry = Trim(line);
    if (!entry.empty() && !entry.starts_with('#')) {
      entries.emplace_back(entry);
    }
  }
  return entries;
}

}  // namespace kgpu::driver
