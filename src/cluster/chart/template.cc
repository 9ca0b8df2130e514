#include "src/cluster/chart/template.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "src/cluster/chart/template_parser.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using Arguments = std::span<const json::value>;

// Go's rule: false, 0, null and everything empty.
bool IsTrue(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return false;
    case json::kind::bool_:
      return value.get_bool();
    case json::kind::string:
      return !value.get_string().empty();
    case json::kind::array:
      return !value.get_array().empty();
    case json::kind::object:
      return !value.get_object().empty();
    case json::kind::int64:
      return value.get_int64() != 0;
    case json::kind::uint64:
      return value.get_uint64() != 0;
    case json::kind::double_:
      return value.get_double() != 0;
  }
  return false;
}

json::value And(Arguments arguments) {
  const auto found = std::ranges::find_if_not(arguments, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}

json::value Or(Arguments arguments) {
  const auto found = std::ranges::find_if(arguments, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}

json::value ToYaml(Arguments arguments) {
  std::string text = doc::Print(arguments[0], doc::Format::kYaml);
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return json::value(doc::View(text));
}

json::value ToJson(Arguments arguments) {
  return json::value(doc::View(doc::PrintLine(arguments[0])));
}

// A new line, and every line of the text below it; those without content stay empty.
json::value Nindent(Arguments arguments) {
  const auto width = static_cast<size_t>(arguments[0].to_number<uint64_t>());
  const json::string& text = arguments[1].get_string();
  std::string out;
  for (const std::string_view line : Split({text.data(), text.size()}, '\n')) {
    out += '\n';
    if (!line.empty()) {
      out.append(width, ' ');
      out.append(line);
    }
  }
  return json::value(doc::View(out));
}

struct Function {
  std::string_view name;
  size_t least;
  size_t most;
  std::string_view takes;  // a letter for each argument: s string, n number, * anything
  json::value (*run)(Arguments arguments);
};

constexpr size_t kMany = 8;
// Of all ranges of a template together.
constexpr size_t kMaxTurns = 10'000;
constexpr std::array<Function, 10> kFunctions = {{
    {"toYaml", 1, 1, "*", &ToYaml},
    {"toJson", 1, 1, "*", &ToJson},
    {"quote", 1, 1, "s", &ToJson},
    {"nindent", 2, 2, "ns", &Nindent},
    {"and", 1, kMany, "********", &And},
    {"or", 1, kMany, "********", &Or},
    {"fail", 1, 1, "s", nullptr},
    {"not", 1, 1, "*", [](Arguments arguments) { return json::value(!IsTrue(arguments[0])); }},
    {"eq", 2, 2, "ss",
     [](Arguments arguments) { return json::value(arguments[0] == arguments[1]); }},
    {"ne", 2, 2, "ss",
     [](Arguments arguments) { return json::value(arguments[0] != arguments[1]); }},
}};

std::string_view NameOfType(char letter) {
  return letter == 's' ? "a string" : "a number";
}

// Entries of a list with their numbers, of a map in the order of its keys.
std::vector<std::pair<json::value, json::value>> EntriesOf(const json::value& value) {
  std::vector<std::pair<json::value, json::value>> entries;
  if (const json::array* list = value.if_array()) {
    for (const json::value& entry : *list) {
      entries.emplace_back(entries.size(), entry);
    }
  } else if (const json::object* map = value.if_object()) {
    for (const auto& [key, entry] : *map) {
      entries.emplace_back(json::string(key), entry);
    }
    std::ranges::sort(entries, {}, [](const auto& entry) -> std::string_view {
      return entry.first.get_string();
    });
  }
  return entries;
}

class TemplateWriter {
 public:
  TemplateWriter(std::string_view text, std::string_view name, const TemplateData& data)
      : text_(text), name_(name), data_(data) {}

  Status Put(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::kText) {
        out.append(node.text);
      } else if (node.kind == Node::Kind::kIf) {
        RETURN_IF_ERROR(PutIf(node));
      } else if (node.kind == Node::Kind::kRange) {
        RETURN_IF_ERROR(PutRange(node));
      } else {
        RETURN_IF_ERROR(PutValue(node.value));
      }
    }
    return OkStatus();
  }

  std::string out;

 private:
  template <typename... Args>
  Status Fail(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}{}", Where(text_, name_, at),
                           fmt::format(format, std::forward<Args>(args)...));
  }

  Status PutIf(const Node& node) {
    for (const Branch& branch : node.branches) {
      bool is_chosen = branch.is_else;
      if (!is_chosen) {
        ASSIGN_OR_RETURN(const json::value condition, Evaluate(branch.condition));
        is_chosen = IsTrue(condition);
      }
      if (is_chosen) {
        return Put(branch.nodes);
      }
    }
    return OkStatus();
  }

  Status PutRange(const Node& node) {
    ASSIGN_OR_RETURN(const json::value value, Evaluate(node.value));
    if (!value.is_array() && !value.is_object()) {
      return Fail(node.value.at, "range must have a list or a map");
    }
    const size_t scope = variables_.size();
    for (auto& [key, entry] : EntriesOf(value)) {
      if (++turns_ > kMaxTurns) {
        return Fail(node.value.at, "ranges have more than {} turns", kMaxTurns);
      }
      variables_.emplace_back(node.variables[0], std::move(key));
      variables_.emplace_back(node.variables[1], std::move(entry));
      const Status status = Put(node.branches[0].nodes);
      variables_.resize(scope);
      RETURN_IF_ERROR(status);
    }
    return OkStatus();
  }

  Status PutValue(const Expression& expression) {
    ASSIGN_OR_RETURN(const json::value value, Evaluate(expression));
    if (const json::string* text = value.if_string()) {
      out.append(text->data(), text->size());
    } else if (const bool* flag = value.if_bool()) {
      out += *flag ? "true" : "false";
    } else {
      return Fail(expression.at,
                  "only a string, true or false can be printed: use toJson or toYaml");
    }
    return OkStatus();
  }

  StatusOr<json::value> Evaluate(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::kConstant:
        return expression.constant;
      case Expression::Kind::kField:
        return FieldOf(expression);
      case Expression::Kind::kCall:
        break;
    }
    std::vector<json::value> arguments;
    for (const Expression& argument : expression.arguments) {
      ASSIGN_OR_RETURN(json::value value, Evaluate(argument));
      arguments.push_back(std::move(value));
    }
    return expression.function == ".Files.Get" ? ReadChartFile(expression, arguments)
                                               : CallFunction(expression, arguments);
  }

  StatusOr<json::value> FieldOf(const Expression& expression) const {
    std::span<const std::string> names = expression.names;
    if (names[0].starts_with('$') && names[0] != "$") {
      return FieldOfVariable(expression);
    }
    if (names[0] == "$") {
      names = names.subspan(1);
    } else if (!variables_.empty()) {
      return Fail(expression.at, "within a range . is the entry: write $.{}",
                  fmt::join(names, "."));
    }
    const json::object* fields = &data_.fields;
    const json::value* value = nullptr;
    for (const std::string& name : names) {
      value = fields == nullptr ? nullptr : fields->if_contains(name);
      if (value == nullptr) {
        return Fail(expression.at, "there is no .{}", fmt::join(names, "."));
      }
      fields = value->if_object();
    }
    return value == nullptr ? Fail(expression.at, "$ must be followed by a name")
                            : StatusOr<json::value>(*value);
  }

  // The innermost one of the name. What an entry does not have is null: its keys are optional.
  StatusOr<json::value> FieldOfVariable(const Expression& expression) const {
    const auto found =
        std::find_if(variables_.rbegin(), variables_.rend(),
                     [&](const auto& variable) { return variable.first == expression.names[0]; });
    if (found == variables_.rend()) {
      return Fail(expression.at, "there is no variable {}", expression.names[0]);
    }
    const json::value* value = &found->second;
    for (const std::string& name : std::span(expression.names).subspan(1)) {
      const json::object* fields = value->if_object();
      if (fields == nullptr) {
        return Fail(expression.at, "there is no {}", Join(expression.names, "."));
      }
      value = fields->if_contains(name);
      if (value == nullptr) {
        return json::value();
      }
    }
    return *value;
  }

  StatusOr<json::value> ReadChartFile(const Expression& expression, Arguments arguments) const {
    if (arguments.size() != 1 || !arguments[0].is_string()) {
      return Fail(expression.at, ".Files.Get must have the path of a file");
    }
    const json::string& path = arguments[0].get_string();
    const auto text = data_.file({path.data(), path.size()});
    if (!text) {
      return Fail(expression.at, "the chart has no file \"{}\"", path.c_str());
    }
    std::string_view content = *text;
    while (content.ends_with('\n')) {
      content.remove_suffix(1);
    }
    return json::value(doc::View(content));
  }

  StatusOr<json::value> CallFunction(const Expression& expression, Arguments arguments) const {
    const auto* const found = std::ranges::find(kFunctions, expression.function, &Function::name);
    if (found == kFunctions.end()) {
      return Fail(expression.at, "\"{}\" is no function of the chart's templates",
                  Printable(expression.function, 40));
    }
    if (arguments.size() < found->least || arguments.size() > found->most) {
      return Fail(expression.at, "{} got {} arguments", found->name, arguments.size());
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const char letter = found->takes[i];
      if ((letter == 's' && !arguments[i].is_string()) ||
          (letter == 'n' && !arguments[i].is_number())) {
        return Fail(expression.at, "argument {} of {} must be {}", i + 1, found->name,
                    NameOfType(letter));
      }
    }
    if (found->name == "fail") {
      const json::string& text = arguments[0].get_string();
      return InvalidArgument("{}", std::string_view(text.data(), text.size()));
    }
    return found->run(arguments);
  }

  std::string_view text_;
  std::string_view name_;
  const TemplateData& data_;
  std::vector<std::pair<std::string, json::value>> variables_;
  size_t turns_ = 0;
};

}  // namespace

StatusOr<std::string> RenderTemplate(std::string_view text, std::string_view name,
                                     const TemplateData& data) {
  ASSIGN_OR_RETURN(const std::vector<Node> nodes, ParseTemplate(text, name));
  TemplateWriter writer(text, name, data);
  RETURN_IF_ERROR(writer.Put(nodes));
  return std::move(writer.out);
}

}  // namespace kgpu::chart
