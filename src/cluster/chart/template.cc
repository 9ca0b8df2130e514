#include "src/cluster/chart/template.h"

#include <boost/json.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/gotemplate/functions.h"
#include "src/platform/gotemplate/template.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using gotemplate::Arguments;
using gotemplate::Context;
using gotemplate::Function;
using gotemplate::Value;
using Result = StatusOr<Value>;

// A whole number is one in JSON, whatever the values wrote: helm prints it so.
json::value JsonOfNumber(double number) {
  constexpr double kWhole = 9007199254740992;  // 2^53: above it, doubles have gaps
  const bool is_whole = std::trunc(number) == number && std::abs(number) <= kWhole;
  return is_whole ? json::value(static_cast<int64_t>(number)) : json::value(number);
}

json::value JsonOf(const Value& value) {
  if (const bool* truth = value.if_truth()) {
    return *truth;
  }
  if (const int64_t* number = value.if_number()) {
    return *number;
  }
  if (const double* number = value.if_decimal()) {
    return JsonOfNumber(*number);
  }
  if (const std::string* text = value.if_text()) {
    return json::value(doc::View(*text));
  }
  if (const Value::List* items = value.if_list()) {
    json::array list;
    for (const Value& item : *items) {
      list.push_back(JsonOf(item));
    }
    return list;
  }
  if (const Value::Dict* fields = value.if_dict()) {
    json::object map;
    for (const std::string& key : value.OrderedKeys()) {
      map[doc::View(key)] = JsonOf(fields->at(key));
    }
    return map;
  }
  return nullptr;
}

std::string WithoutLineEnds(std::string_view text) {
  return std::string(text.substr(0, text.find_last_not_of('\n') + 1));
}

Result ToYaml(Arguments args, const Context&) {
  return Value(WithoutLineEnds(doc::Print(JsonOf(args[0]), doc::Format::kYaml)));
}

Result ToJson(Arguments args, const Context&) {
  return Value(doc::PrintLine(JsonOf(args[0])));
}

// A new line, and every line of the text below it; those without content stay empty.
Result Nindent(Arguments args, const Context&) {
  constexpr int64_t kMostBlanks = 1000;
  ASSIGN_OR_RETURN(const int64_t width, gotemplate::NumberOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, gotemplate::TextOf(args[1]));
  if (width < 0 || width > kMostBlanks) {
    return InvalidArgument("the width must be a number up to {}", kMostBlanks);
  }
  std::string out;
  for (const std::string_view line : Split(text, '\n')) {
    out += '\n';
    if (!line.empty()) {
      out.append(static_cast<size_t>(width), ' ');
      out.append(line);
    }
  }
  return Value(std::move(out));
}

Result Fail(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view text, gotemplate::TextOf(args[0]));
  return MakeStatus(gotemplate::kEnds, text);
}

// The method of .Files, without the line ends at the end of the file.
Result GetFile(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view path, gotemplate::TextOf(args[1]));
  const Value::Dict* files = args[0].if_dict();
  const auto found = files == nullptr ? Value::Dict::const_iterator() : files->find(path);
  if (files == nullptr || found == files->end()) {
    return InvalidArgument("the chart has no file \"{}\"", Printable(path, 200));
  }
  ASSIGN_OR_RETURN(const std::string_view text, gotemplate::TextOf(found->second));
  return Value(WithoutLineEnds(text));
}

// Helm prints decimal numbers with exponents, lists and maps as Go does, and nothing as "".
StatusOr<std::string> PrintStrictly(const Value& value) {
  if (value.if_text() == nullptr && value.if_truth() == nullptr) {
    return InvalidArgument("{} cannot be printed: use toJson or toYaml", value.KindName());
  }
  return value.Text();
}

const gotemplate::Language& ChartLanguage() {
  static constexpr std::array<std::string_view, 7> kShared = {"and", "or",    "not", "eq",
                                                              "ne",  "quote", "get"};
  static const gotemplate::Language kLanguage = [] {
    gotemplate::Language language{.functions = gotemplate::FunctionsNamed(kShared),
                                  .limits = {.text_bytes = size_t{1} << 20,
                                             .output_bytes = size_t{4} << 20,
                                             .steps = 1'000'000},
                                  .reference = "docs/reference/chart.md",
                                  .print = &PrintStrictly};
    language.functions.insert(language.functions.end(),
                              {Function{.name = "toYaml", .least = 1, .most = 1, .body = &ToYaml},
                               Function{.name = "toJson", .least = 1, .most = 1, .body = &ToJson},
                               Function{.name = "nindent", .least = 2, .most = 2, .body = &Nindent},
                               Function{.name = "fail", .least = 1, .most = 1, .body = &Fail},
                               Function{.name = ".Get", .least = 2, .most = 2, .body = &GetFile}});
    return language;
  }();
  return kLanguage;
}

Status ErrorIn(std::string_view name, const Status& status) {
  return status.code() == gotemplate::kEnds ? InvalidArgument("{}", Message(status))
                                            : InvalidArgument("{}: {}", name, Message(status));
}

}  // namespace

Value TemplateValue(const json::value& value) {
  if (const json::object* map = value.if_object()) {
    Value::Dict fields;
    std::vector<std::string> order;
    for (const auto& [key, field] : *map) {
      order.emplace_back(std::string_view(key.data(), key.size()));
      fields.emplace(order.back(), TemplateValue(field));
    }
    return Value(std::move(fields), std::move(order));
  }
  if (const json::array* list = value.if_array()) {
    Value::List items;
    for (const json::value& item : *list) {
      items.push_back(TemplateValue(item));
    }
    return Value(std::move(items));
  }
  if (const json::string* text = value.if_string()) {
    return Value(std::string_view(text->data(), text->size()));
  }
  if (const bool* truth = value.if_bool()) {
    return Value(*truth);
  }
  return value.is_number() ? Value(value.to_number<double>()) : Value();
}

StatusOr<std::string> RenderTemplate(std::string_view text, std::string_view name,
                                     const Value& data) {
  const auto parsed = gotemplate::Template::Parse(text, ChartLanguage());
  if (!parsed.ok()) {
    return ErrorIn(name, parsed.status());
  }
  auto output = parsed->Expand(data);
  return output.ok() ? std::move(output) : ErrorIn(name, output.status());
}

}  // namespace kgpu::chart
