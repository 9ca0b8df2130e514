#include "src/container/engine/imports.h"

#include <fnmatch.h>

#include <boost/json/value.hpp>

#include <deque>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

constexpr size_t kMostFiles = 64;
constexpr size_t kMostImportBytes = size_t{4} << 20;

// The patterns of one file, absolute.
StatusOr<std::vector<std::string>> PatternsOf(const NamedText& file) {
  std::vector<std::string> patterns;
  ASSIGN_OR_RETURN(const edit::Document document,
                   edit::Document::Open(file.text, file.path, edit::Syntax::kToml));
  const boost::json::value* imports = document.Find({"imports"});
  if (imports == nullptr) {
    return patterns;
  }
  if (!imports->is_array()) {
    return InvalidArgument("{}: imports must be a list", document.Where({"imports"}));
  }
  for (const boost::json::value& item : imports->get_array()) {
    if (!item.is_string()) {
      return InvalidArgument("{}: imports must be a list of file names",
                             document.Where({"imports"}));
    }
    const std::filesystem::path name(
        std::string(item.get_string().data(), item.get_string().size()));
    patterns.push_back((std::filesystem::path(file.path).parent_path() / name).lexically_normal());
  }
  return patterns;
}

// The files that a pattern names. Only the last part may be a pattern, as people use it.
std::vector<std::string> Match(const sys::Root& host, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return {pattern};
  }
  const std::filesystem::path path(pattern);
  std::vector<std::string> matches;
  const auto names = host.ListDir(path.parent_path().string());
  if (names.ok()) {
    for (const std::string& name : *names) {
      if (fnmatch(path.filename().c_str(), name.c_str(), FNM_PATHNAME) == 0) {
        matches.push_back((path.parent_path() / name).string());
      }
    }
  }
  return matches;
}

}  // namespace

StatusOr<std::vector<NamedText>> ReadImports(const sys::Root& host, const NamedText& main,
                                             std::string_view skipped) {
  std::vector<NamedText> found;
  std::set<std::string> seen{main.path, std::string(skipped)};
  std::deque<NamedText> to_read{main};
  while (!to_read.empty()) {
    const NamedText file = std::move(to_read.front());
    to_read.pop_front();
    ASSIGN_OR_RETURN(const std::vector<std::string> patterns, PatternsOf(file));
    for (const std::string& pattern : patterns) {
      for (const std::string& path : Match(host, pattern)) {
        if (!seen.insert(path).second) {
          continue;
        }
        auto text = host.ReadFile(path, kMostImportBytes);
        if (!text.ok()) {
          continue;  // containerd passes over what is not there, too
        }
        if (found.size() == kMostFiles) {
          return OutOfRange("{}: imports more than {} files", main.path, kMostFiles);
        }
        found.push_back({path, *text});
        to_read.push_back({path, *std::move(text)});
      }
    }
  }
  return found;
}

}  // namespace kgpu::engine
