#include "src/kube/cel/cel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "src/kube/cel/functions.h"
#include "src/kube/cel/syntax.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cel {
namespace {

constexpr size_t kMaxSteps = 100'000;

// Whether kgpu does not know the result, in contrast to an error of CEL.
bool IsOfKgpu(const Status& status) {
  return status.code() != StatusCode::kInvalidArgument;
}

Value Wrap(Value value) {
  return {Optional{std::make_shared<const Value>(std::move(value))}};
}

StatusOr<Value> Real(double result) {
  if (std::isnan(result)) {
    return Unimplemented("kgpu cannot evaluate NaN");
  }
  return Value{result};
}

StatusOr<Value> ComputeWhole(int64_t a, int64_t b, char sign) {
  int64_t result = 0;
  const bool divides = sign == '/' || sign == '%';
  if (divides && b == 0) {
    return InvalidArgument("division by zero");
  }
  const bool overflows = sign == '+'   ? __builtin_add_overflow(a, b, &result)
                         : sign == '-' ? __builtin_sub_overflow(a, b, &result)
                         : sign == '*' ? __builtin_mul_overflow(a, b, &result)
                                       : a == INT64_MIN && b == -1;
  if (overflows) {
    return InvalidArgument("integer overflow");
  }
  return Value{sign == '/' ? a / b : sign == '%' ? a % b : result};
}

StatusOr<Value> Compute(const Value& a, const Value& b, char sign) {
  const auto* whole = a.If<int64_t>();
  const auto* other_whole = b.If<int64_t>();
  if (whole != nullptr && other_whole != nullptr) {
    return ComputeWhole(*whole, *other_whole, sign);
  }
  const auto* real = a.If<double>();
  const auto* other_real = b.If<double>();
  if (real != nullptr && other_real != nullptr && sign != '%') {
    return Real(sign == '+'   ? *real + *other_real
                : sign == '-' ? *real - *other_real
                : sign == '*' ? *real * *other_real
                              : *real / *other_real);
  }
  const auto* text = a.If<std::string>();
  const auto* other_text = b.If<std::string>();
  if (text != nullptr && other_text != nullptr && sign == '+') {
    return Value{*text + *other_text};
  }
  if (a.IfList() != nullptr && b.IfList() != nullptr && sign == '+') {
    List list = *a.IfList();
    list.insert(list.end(), b.IfList()->begin(), b.IfList()->end());
    return ListValue(std::move(list));
  }
  return InvalidArgument("no such overload: {} {} {}", TypeName(a), sign, TypeName(b));
}

StatusOr<bool> IsIn(const Value& value, const Value& container) {
  const auto* key = value.If<std::string>();
  if (const Map* map = container.IfMap(); map != nullptr && key != nullptr) {
    return map->fields.contains(*key);
  }
  const List* list = container.IfList();
  if (list == nullptr) {
    return InvalidArgument("no such overload: {} in {}", TypeName(value), TypeName(container));
  }
  for (const Value& item : *list) {
    StatusOr<bool> is_equal = AreEqual(value, item);
    if (!is_equal.ok() && IsOfKgpu(is_equal.status())) {
      return is_equal;
    }
    if (is_equal.ok() && *is_equal) {
      return true;
    }
  }
  return false;
}

StatusOr<Value> Operate(const Value& a, const Value& b, std::string_view sign) {
  if (sign == "==" || sign == "!=") {
    ASSIGN_OR_RETURN(const bool is_equal, AreEqual(a, b));
    return Value{is_equal == (sign == "==")};
  }
  if (sign == "in") {
    ASSIGN_OR_RETURN(const bool is_in, IsIn(a, b));
    return Value{is_in};
  }
  if (sign[0] != '<' && sign[0] != '>') {
    return Compute(a, b, sign[0]);
  }
  ASSIGN_OR_RETURN(const int order, Order(a, b));
  const bool is_other = sign[0] == '<' ? order < 0 : order > 0;
  return Value{is_other || (order == 0 && sign.size() == 2)};
}

// The field of a map or the item of a list; nothing: there is none.
StatusOr<std::optional<Value>> Find(const Value& from, const Value& key) {
  const auto* name = key.If<std::string>();
  if (const Map* map = from.IfMap(); map != nullptr && name != nullptr) {
    const auto found = map->fields.find(*name);
    return found != map->fields.end() ? std::optional(found->second)
           : map->has_every_key       ? std::optional(MapValue({}))
                                      : std::nullopt;
  }
  const auto* at = key.If<int64_t>();
  const List* list = from.IfList();
  if (list == nullptr || at == nullptr) {
    return InvalidArgument("no such overload: {} has no [{}]", TypeName(from), TypeName(key));
  }
  const bool is_within = *at >= 0 && static_cast<size_t>(*at) < list->size();
  return is_within ? std::optional((*list)[static_cast<size_t>(*at)]) : std::nullopt;
}

class Evaluation {
 public:
  Evaluation(std::string_view text, const Value& device) : text_(text), device_(device) {}

  StatusOr<Value> Run(const Node& node) {
    if (++steps_ > kMaxSteps) {
      return Unimplemented("kgpu stops after {} steps", kMaxSteps);
    }
    switch (node.op) {
      case Op::kLiteral:
        return node.literal;
      case Op::kName:
        return Variable(node.name);
      case Op::kSelect:
      case Op::kMaybe:
      case Op::kHas:
        return Select(node);
      case Op::kAnd:
      case Op::kOr:
        return Logic(node);
      case Op::kChoice:
        return Choose(node);
      case Op::kBind:
        return Bind(node);
      case Op::kExists:
      case Op::kAll:
        return Quantify(node);
      default:
        return Strict(node);
    }
  }

 private:
  // The operations for which no operand may fail.
  StatusOr<Value> Strict(const Node& node) {
    List values;
    values.reserve(node.children.size());
    for (const Node& child : node.children) {
      ASSIGN_OR_RETURN(Value value, Run(child));
      values.push_back(std::move(value));
    }
    StatusOr<Value> result = node.op == Op::kList       ? ListValue(std::move(values))
                             : node.op == Op::kNot      ? Not(values[0])
                             : node.op == Op::kMinus    ? Minus(values[0])
                             : node.op == Op::kOperator ? Operate(values[0], values[1], node.name)
                                                        : node.function->run(values);
    return result.ok() ? result : Annotate(result.status(), "{}", TextAt(node));
  }

  std::string TextAt(const Node& node) const {
    return Printable(text_.substr(node.begin, node.end - node.begin), 120);
  }

  static StatusOr<Value> Not(const Value& value) {
    const auto* flag = value.If<bool>();
    return flag == nullptr
               ? StatusOr<Value>(InvalidArgument("no such overload: !{}", TypeName(value)))
               : Value{!*flag};
  }

  static StatusOr<Value> Minus(const Value& value) {
    const auto* real = value.If<double>();
    return real != nullptr ? StatusOr<Value>(Value{-*real}) : Compute({int64_t{0}}, value, '-');
  }

  StatusOr<Value> Variable(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->first == name) {
        return scope->second;
      }
    }
    return device_;
  }

  StatusOr<Value> Select(const Node& node) {
    ASSIGN_OR_RETURN(Value from, Run(node.children[0]));
    ASSIGN_OR_RETURN(const Value key, Run(node.children[1]));
    const auto* optional = from.If<Optional>();
    const bool is_optional = optional != nullptr || node.op == Op::kMaybe;
    if (optional != nullptr && optional->value == nullptr) {
      return node.op == Op::kHas ? Value{false} : from;
    }
    const auto found = Find(optional == nullptr ? from : *optional->value, key);
    if (!found.ok()) {
      return Annotate(found.status(), "{}", TextAt(node));
    }
    if (node.op == Op::kHas) {
      return Value{found->has_value()};
    }
    if (!*found && !is_optional) {
      return InvalidArgument("{}: no such {}", TextAt(node),
                             from.IfList() == nullptr ? "key" : "index");
    }
    return is_optional ? *found ? Wrap(**found) : Value{Optional()} : **found;
  }

  // Whether a part decides is seen before errors of others count.
  StatusOr<Value> Logic(const Node& node) {
    return Decide(node.op == Op::kOr, node.children.size(),
                  [&](size_t at) { return Run(node.children[at]); });
  }

  template <typename Part>
  static StatusOr<Value> Decide(bool decisive, size_t count, Part part) {
    Status problem;
    for (size_t i = 0; i < count; ++i) {
      const StatusOr<Value> value = part(i);
      const bool* flag = value.ok() ? value->template If<bool>() : nullptr;
      if (flag == nullptr) {
        Status found = value.ok()
                           ? InvalidArgument("no such overload: {} is no bool", TextOf(*value))
                           : value.status();
        if (IsOfKgpu(found)) {
          return found;
        }
        problem.Update(found);
      } else if (*flag == decisive) {
        return Value{decisive};
      }
    }
    return problem.ok() ? StatusOr<Value>(Value{!decisive}) : problem;
  }

  StatusOr<Value> Choose(const Node& node) {
    ASSIGN_OR_RETURN(const Value condition, Run(node.children[0]));
    const auto* flag = condition.If<bool>();
    if (flag == nullptr) {
      return InvalidArgument("no such overload: {} is no bool", TextAt(node.children[0]));
    }
    return Run(node.children[*flag ? 1 : 2]);
  }

  // An error of the value is one of the body's only where the body uses it.
  StatusOr<Value> Bind(const Node& node) {
    scopes_.emplace_back(node.name, Run(node.children[0]));
    StatusOr<Value> result = Run(node.children[1]);
    scopes_.pop_back();
    return result;
  }

  StatusOr<Value> Quantify(const Node& node) {
    ASSIGN_OR_RETURN(const Value range, Run(node.children[0]));
    const List* list = range.IfList();
    if (list == nullptr) {
      return Unimplemented("{}: kgpu cannot evaluate this with a {}", TextAt(node),
                           TypeName(range));
    }
    return Decide(node.op == Op::kExists, list->size(), [&](size_t at) {
      scopes_.emplace_back(node.name, (*list)[at]);
      StatusOr<Value> result = Run(node.children[1]);
      scopes_.pop_back();
      return result;
    });
  }

  std::string_view text_;
  const Value& device_;
  size_t steps_ = 0;
  std::vector<std::pair<std::string_view, StatusOr<Value>>> scopes_;
};

// Whether `node` is a field of the device, or of a field of it.
bool IsOfDevice(const Node& node) {
  const bool is_select = node.op == Op::kSelect || node.op == Op::kMaybe;
  return node.op == Op::kName
             ? node.name == "device"
             : is_select && node.children[1].op == Op::kLiteral && IsOfDevice(node.children[0]);
}

void CollectReadings(std::string_view text, const Value& device, const Node& node,
                     std::vector<std::string>& out) {
  if (IsOfDevice(node)) {
    const StatusOr<Value> value = Evaluation(text, device).Run(node);
    const auto* optional = value.ok() ? value->If<Optional>() : nullptr;
    const Value* found = optional != nullptr ? optional->value.get()
                         : value.ok()        ? &*value
                                             : nullptr;
    if (found != nullptr && found->IfMap() == nullptr) {
      std::string line =
          fmt::format("{} is {}", Printable(text.substr(node.begin, node.end - node.begin), 120),
                      TextOf(*found));
      if (std::ranges::find(out, line) == out.end()) {
        out.push_back(std::move(line));
      }
    }
    return;
  }
  for (const Node& child : node.children) {
    CollectReadings(text, device, child, out);
  }
}

}  // namespace

StatusOr<Program> Program::Compile(std::string_view text) {
  ASSIGN_OR_RETURN(Node root, ParseExpression(text));
  return Program(std::string(text), std::make_shared<const Node>(std::move(root)));
}

StatusOr<bool> Program::Matches(const Value& device) const {
  ASSIGN_OR_RETURN(const Value value, Evaluation(text_, device).Run(*root_));
  const auto* flag = value.If<bool>();
  if (flag == nullptr) {
    return InvalidArgument("the result is a {}, not a bool", TypeName(value));
  }
  return *flag;
}

std::vector<std::string> Program::Readings(const Value& device) const {
  std::vector<std::string> out;
  CollectReadings(text_, device, *root_, out);
  return out;
}

}  // namespace kgpu::cel
