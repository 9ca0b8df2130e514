#include "src/setup/driver/apt_sources.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

using Fields = std::map<std::string, std::string>;

std::vector<std::string> Strings(const std::vector<std::string_view>& words) {
  return {words.begin(), words.end()};
}

// "[arch=amd64 signed-by=/usr/share/keyrings/x.gpg]" as words: takes them off `words`.
std::string TakeOptions(std::vector<std::string_view>& words) {
  std::string signed_by;
  if (words.size() < 2 || !words[1].starts_with('[')) {
    return signed_by;
  }
  size_t end = 1;
  while (end < words.size() && !words[end].ends_with(']')) {
    ++end;
  }
  for (size_t i = 1; i <= end && i < words.size(); ++i) {
    std::string_view word = words[i];
    word = word.substr(word.starts_with('[') ? 1 : 0);
    word = word.substr(0, word.find(']'));
    if (constexpr std::string_view kKey = "signed-by="; ToLower(word).starts_with(kKey)) {
      signed_by = word.substr(kKey.size());
    }
  }
  const auto past = static_cast<std::ptrdiff_t>(std::min(end + 1, words.size()));
  words.erase(words.begin() + 1, words.begin() + past);
  return signed_by;
}

void KeepParagraph(const Fields& fields, std::string_view file, std::vector<AptSource>& sources) {
  const auto value = [&fields](const char* name) {
    const auto field = fields.find(name);
    return field == fields.end() ? std::string() : field->second;
  };
  const std::vector<std::string> types = Strings(Words(value("types")));
  const std::string enabled = ToLower(value("enabled"));
  if (std::ranges::find(types, "deb") == types.end() || enabled == "no" || enabled == "false") {
    return;
  }
  const std::string uris = value("uris");
  const std::string suites = value("suites");
  const std::string components = value("components");
  for (const std::string_view uri : Words(uris)) {
    for (const std::string_view suite : Words(suites)) {
      sources.push_back({.file = std::string(file),
                         .uri = std::string(uri),
                         .suite = std::string(suite),
                         .components = Strings(Words(components)),
                         .signed_by = value("signed-by")});
    }
  }
}

}  // namespace

std::vector<AptSource> ParseAptList(std::string_view text, std::string_view file) {
  std::vector<AptSource> sources;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line.substr(0, line.find('#')));
    std::vector<std::string_view> words = Words(line);
    if (words.empty() || words[0] != "deb") {
      continue;
    }
    const std::string signed_by = TakeOptions(words);
    if (words.size() < 3) {
      continue;
    }
    sources.push_back({.file = std::string(file),
                       .uri = std::string(words[1]),
                       .suite = std::string(words[2]),
                       .components = Strings({words.begin() + 3, words.end()}),
                       .signed_by = signed_by});
  }
  return sources;
}

std::vector<AptSource> ParseAptParagraphs(std::string_view text, std::string_view file) {
  std::vector<AptSource> sources;
  Fields fields;
  std::string last;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with('#')) {
      continue;
    }
    const size_t colon = line.find(':');
    if (Trim(line).empty()) {
      KeepParagraph(fields, file, sources);
      fields.clear();
      last.clear();
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (!last.empty()) {  // the field continues
        fmt::format_to(std::back_inserter(fields[last]), " {}", Trim(line));
      }
    } else if (colon != std::string_view::npos) {
      last = ToLower(line.substr(0, colon));
      fields[last] = Trim(line.substr(colon + 1));
    }
  }
  KeepParagraph(fields, file, sources);
  return sources;
}

std::vector<AptSource> ReadAptSources(const sys::Root& host) {
  constexpr std::string_view kMain = "/etc/apt/sources.list";
  std::vector<AptSource> all = ParseAptList(host.ReadFile(kMain).value_or(""), kMain);
  constexpr std::string_view kFolder = "/etc/apt/sources.list.d";
  for (const std::string& name : host.ListDir(kFolder).value_or(std::vector<std::string>())) {
    const std::string path = fmt::format("{}/{}", kFolder, name);
    std::vector<AptSource> sources;
    if (name.ends_with(".list")) {
      sources = ParseAptList(host.ReadFile(path).value_or(""), path);
    } else if (name.ends_with(".sources")) {
      sources = ParseAptParagraphs(host.ReadFile(path).value_or(""), path);
    }
    all.insert(all.end(), sources.begin(), sources.end());
  }
  return all;
}

}  // namespace kgpu::driver
