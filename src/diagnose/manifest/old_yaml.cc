#include "src/diagnose/manifest/old_yaml.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

constexpr std::string_view kDigits = "0123456789";

bool IsOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

bool IsOldNumber(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) {
    text.remove_prefix(1);
  }
  if (text.size() > 1 && text[0] == '0' && IsOf(text, "0123456789_.")) {
    // 0.5 is the same in both.
    return text[1] != '.';
  }
  if (text.starts_with("0b") || text.starts_with("0o")) {
    return IsOf(text.substr(2), "01234567_");
  }
  const bool has_underscore = text.find('_') != std::string_view::npos;
  if (has_underscore && kDigits.find(text.front()) != std::string_view::npos) {
    return IsOf(text, "0123456789abcdefABCDEFxX_.+-");
  }
  // 190:20:30 counts by sixties.
  if (text.find(':') != std::string_view::npos) {
    return IsOf(text, "0123456789_:.") && kDigits.find(text.front()) != std::string_view::npos;
  }
  return text == ".inf" || text == ".Inf" || text == ".INF" || text == ".nan" || text == ".NaN" ||
         text == ".NAN";
}

// The plain scalar that begins at a place, as far as its line goes; empty: it is quoted, a block,
// or an alias's.
std::string_view PlainAt(const std::vector<std::string_view>& lines, const doc::Position& at) {
  if (at.line == 0 || at.line > lines.size() || at.column == 0 ||
      at.column > lines[at.line - 1].size()) {
    return "";
  }
  std::string_view rest = lines[at.line - 1].substr(at.column - 1);
  while (rest.starts_with('&') || rest.starts_with('!')) {
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    rest = Trim(rest);
  }
  if (rest.empty() || std::string_view("\"'|>*").find(rest.front()) != std::string_view::npos) {
    return "";
  }
  for (const std::string_view end : {" #", ": ", ",", "}", "]"}) {
    rest = rest.substr(0, rest.find(end));
  }
  return Trim(rest);
}

class Searcher {
 public:
  explicit Searcher(std::string_view text) : lines_(Split(text, '\n')) {}

  bool Has(const json::value& value, const doc::Place& place) const {
    if (const json::array* items = value.if_array()) {
      for (size_t i = 0; i < items->size() && i < place.children.size(); ++i) {
        if (Has((*items)[i], place.children[i])) {
          return true;
        }
      }
      return false;
    }
    if (const json::object* fields = value.if_object()) {
      for (size_t i = 0; i < fields->size() && i < place.children.size(); ++i) {
        const auto& field = *(fields->begin() + i);
        const bool is_merge = field.key() == "<<";
        if (is_merge || Has(field.value(), place.children[i])) {
          return true;
        }
      }
      return false;
    }
    return IsOldScalar(PlainAt(lines_, place.value));
  }

 private:
  std::vector<std::string_view> lines_;
};

}  // namespace

bool IsOldScalar(std::string_view scalar) {
  constexpr std::array<std::string_view, 16> kWords = {"y",  "Y",   "yes", "Yes", "YES", "n",
                                                       "N",  "no",  "No",  "NO",  "on",  "On",
                                                       "ON", "off", "Off", "OFF"};
  return !scalar.empty() &&
         (std::ranges::find(kWords, scalar) != kWords.end() || IsOldNumber(scalar));
}

bool HasOldYaml(std::string_view text, const doc::Located& located) {
  return Searcher(text).Has(located.root, located.place);
}

}  // namespace kgpu::manifest
