#include "src/platform/edit/toml_tree.h"

#include <boost/json.hpp>

#include <cmath>
#include <sstream>
#include <utility>

// Header-only and without exceptions: an error is a value.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/edit/names.h"

namespace kgpu::edit {
namespace {

namespace json = boost::json;

using doc::View;

template <typename T>
json::value Tagged(std::string_view tag, const T& value) {
  std::ostringstream text;
  text << value;
  return json::object{{View(tag), View(text.str())}};
}

json::value ToJson(const toml::node& node);

json::value ToJson(const toml::table& table) {
  json::object object;
  object.reserve(table.size());
  for (const auto& [key, value] : table) {
    object.emplace(View(key.str()), ToJson(value));
  }
  return object;
}

json::value ToJson(const toml::array& array) {
  json::array list;
  list.reserve(array.size());
  for (const toml::node& item : array) {
    list.push_back(ToJson(item));
  }
  return list;
}

json::value ToJson(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return ToJson(*node.as_table());
    case toml::node_type::array:
      return ToJson(*node.as_array());
    case toml::node_type::string:
      return json::string(View(node.as_string()->get()));
    case toml::node_type::integer:
      return node.as_integer()->get();
    case toml::node_type::boolean:
      return node.as_boolean()->get();
    case toml::node_type::floating_point: {
      const double number = node.as_floating_point()->get();
      return std::isnan(number) ? Tagged("toml:number", "nan") : json::value(number);
    }
    case toml::node_type::date:
      return Tagged("toml:date", node.as_date()->get());
    case toml::node_type::time:
      return Tagged("toml:date", node.as_time()->get());
    case toml::node_type::date_time:
      return Tagged("toml:date", node.as_date_time()->get());
    default:
      return nullptr;
  }
}

// toml++ counts columns in characters; people's editors do too.
Status ErrorOf(const toml::parse_error& error, std::string_view file) {
  const toml::source_position at = error.source().begin;
  std::string_view what = error.description();
  if (const size_t end = what.find(": "); what.starts_with("Error while parsing") && end < 60) {
    what.remove_prefix(end + 2);
  }
  return InvalidArgument("{}:{}:{}: not TOML: {}", file, at.line, at.column, Printable(what));
}

std::string QuotedToml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

StatusOr<json::value> ParseTomlTree(std::string_view text, std::string_view file) {
  try {
    const toml::parse_result result = toml::parse(text);
    if (!result) {
      return ErrorOf(result.error(), file);
    }
    return ToJson(result.table());
  } catch (const std::exception& e) {
    return Internal("{}: {}", file, e.what());
  }
}

StatusOr<std::string> PrintTomlValue(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return QuotedToml(std::string_view(value.get_string().data(), value.get_string().size()));
    case json::kind::bool_:
      return std::string(value.get_bool() ? "true" : "false");
    case json::kind::int64:
      return fmt::format("{}", value.get_int64());
    case json::kind::double_:
      return doc::NumberText(value.get_double());
    case json::kind::array: {
      std::vector<std::string> items;
      for (const json::value& item : value.get_array()) {
        ASSIGN_OR_RETURN(std::string text, PrintTomlValue(item));
        items.push_back(std::move(text));
      }
      return fmt::format("[{}]", Join(items, ", "));
    }
    default:
      return InvalidArgument("{} is not a TOML value", doc::PrintLine(value));
  }
}

std::string PrintTomlName(std::string_view name) {
  return IsBareName(name) ? std::string(name) : QuotedToml(name);
}

}  // namespace kgpu::edit
