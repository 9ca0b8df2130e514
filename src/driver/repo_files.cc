#include "src/driver/repo_files.h"

#include <optional>

#include <fmt/format.h>

#include "src/base/strings.h"

namespace kgpu::driver {
namespace {

struct Section {
  RpmRepository repository;
  bool is_enabled = true;
};

void Keep(const std::optional<Section>& section, std::vector<RpmRepository>& all) {
  if (section && section->is_enabled) {
    all.push_back(section->repository);
  }
}

void Take(std::string_view key, std::string_view value, Section& section) {
  if (key == "enabled") {
    const std::string text = ToLower(value);
    section.is_enabled = text == "1" || text == "true" || text == "yes";
  } else if (key == "baseurl" || key == "mirrorlist" || key == "metalink") {
    section.repository.url = value;
  }
}

}  // namespace

std::vector<RpmRepository> ParseRepoFile(std::string_view text) {
  std::vector<RpmRepository> all;
  std::optional<Section> section;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') {
      continue;
    }
    if (line.front() == '[') {
      Keep(section, all);
      section.emplace();
      section->repository.id = line.substr(1, line.find(']') - 1);
    } else if (const size_t at = line.find('='); section && at != std::string_view::npos) {
      Take(Trim(line.substr(0, at)), Trim(line.substr(at + 1)), *section);
    }
  }
  Keep(section, all);
  return all;
}

std::vector<RpmRepository> ReadRpmRepositories(const sys::Root& host) {
  std::vector<RpmRepository> all;
  for (const std::string_view folder : {"etc/yum.repos.d", "etc/zypp/repos.d"}) {
    for (const std::string& name : host.ListDir(folder).value_or(std::vector<std::string>())) {
      if (name.ends_with(".repo")) {
        const std::string text = host.ReadFile(fmt::format("{}/{}", folder, name)).value_or("");
        for (RpmRepository& repository : ParseRepoFile(text)) {
          all.push_back(std::move(repository));
        }
      }
    }
  }
  return all;
}

}  // namespace kgpu::driver
