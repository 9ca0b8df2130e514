// Functions that compare, decide and calculate. Numbers are whole, of 64 bits; what leaves them is
// an error.
#include <algorithm>
#include <array>
#include <charconv>
#include <compare>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::gotemplate {
namespace {

using Result = StatusOr<Value>;

// Only values of one kind can be compared: as in Go, and "10" < 9 would surprise.
Status CheckAlike(const Value& a, const Value& b) {
  if (a.KindName() == b.KindName()) {
    return OkStatus();
  }
  return InvalidArgument("{} compared with {}: use atoi or toString", a.KindName(), b.KindName());
}

StatusOr<std::strong_ordering> Order(const Value& a, const Value& b) {
  RETURN_IF_ERROR(CheckAlike(a, b));
  if (a.if_number() != nullptr && b.if_number() != nullptr) {
    return *a.if_number() <=> *b.if_number();
  }
  ASSIGN_OR_RETURN(const std::string_view left, TextOf(a));
  ASSIGN_OR_RETURN(const std::string_view right, TextOf(b));
  return left <=> right;
}

// Like any of the others.
Result Equal(Arguments args, const Context&) {
  for (const Value& other : args.subspan(1)) {
    RETURN_IF_ERROR(CheckAlike(args[0], other));
    if (args[0] == other) {
      return Value(true);
    }
  }
  return Value(false);
}

Result NotEqual(Arguments args, const Context&) {
  RETURN_IF_ERROR(CheckAlike(args[0], args[1]));
  return Value(!(args[0] == args[1]));
}

Result Less(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::strong_ordering order, Order(args[0], args[1]));
  return Value(order < 0);
}
Result LessOrEqual(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::strong_ordering order, Order(args[0], args[1]));
  return Value(order <= 0);
}
Result Greater(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::strong_ordering order, Order(args[0], args[1]));
  return Value(order > 0);
}
Result GreaterOrEqual(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::strong_ordering order, Order(args[0], args[1]));
  return Value(order >= 0);
}

Result Not(Arguments args, const Context&) {
  return Value(!args[0].IsTrue());
}

// For `and` and `or`: no argument before the last one decided.
Result Last(Arguments args, const Context&) {
  return args.back();
}

// The first value replaces a second that is empty.
Result Default(Arguments args, const Context&) {
  return args[args.size() == 2 && args[1].IsTrue() ? 1 : 0];
}

Result Empty(Arguments args, const Context&) {
  return Value(!args[0].IsTrue());
}

Result Coalesce(Arguments args, const Context&) {
  const auto found = std::ranges::find_if(args, [](const Value& value) { return value.IsTrue(); });
  return found == args.end() ? Value() : *found;
}

Result Ternary(Arguments args, const Context&) {
  if (args[2].if_truth() == nullptr) {
    return InvalidArgument("{} instead of true or false", args[2].KindName());
  }
  return args[*args[2].if_truth() ? 0 : 1];
}

template <typename Operation>
Result Fold(Arguments args, const Operation& operation) {
  ASSIGN_OR_RETURN(int64_t result, NumberOf(args[0]));
  for (const Value& value : args.subspan(1)) {
    ASSIGN_OR_RETURN(const int64_t number, NumberOf(value));
    if (!operation(result, number)) {
      return InvalidArgument("the number exceeds 64 bits, or is divided by 0");
    }
  }
  return Value(result);
}

Result Add(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) { return !__builtin_add_overflow(a, b, &a); });
}
Result Sub(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) { return !__builtin_sub_overflow(a, b, &a); });
}
Result Mul(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) { return !__builtin_mul_overflow(a, b, &a); });
}
bool CanDivide(int64_t a, int64_t b) {
  return b != 0 && !(a == INT64_MIN && b == -1);
}
Result Div(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) {
    const bool can = CanDivide(a, b);
    a = can ? a / b : 0;
    return can;
  });
}
Result Mod(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) {
    const bool can = CanDivide(a, b);
    a = can ? a % b : 0;
    return can;
  });
}
Result Max(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) {
    a = std::max(a, b);
    return true;
  });
}
Result Min(Arguments args, const Context&) {
  return Fold(args, [](int64_t& a, int64_t b) {
    a = std::min(a, b);
    return true;
  });
}
Result AddOne(Arguments args, const Context&) {
  const std::array<Value, 2> both = {args[0], Value(int64_t{1})};
  return Add(both, {});
}

// A text as a number. sprig returns 0 for other texts; here it is an error, so that no label lies.
Result Atoi(Arguments args, const Context&) {
  if (args[0].if_number() != nullptr) {
    return args[0];
  }
  ASSIGN_OR_RETURN(std::string_view text, TextOf(args[0]));
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) {
    return InvalidArgument("\"{}\" must be an integer", Printable(text, 40));
  }
  return Value(number);
}

constexpr std::array kNumberFunctions = {
    Function{.name = "add", .least = 1, .most = kAnyNumber, .body = Add},
    Function{.name = "add1", .least = 1, .most = 1, .body = AddOne},
    Function{.name = "and",
             .least = 1,
             .most = kAnyNumber,
             .body = Last,
             .stop = Function::Stop::kAtFalse},
    Function{.name = "atoi", .least = 1, .most = 1, .body = Atoi},
    Function{.name = "coalesce", .least = 1, .most = kAnyNumber, .body = Coalesce},
    Function{.name = "default", .least = 1, .most = 2, .body = Default},
    Function{.name = "div", .least = 2, .most = 2, .body = Div},
    Function{.name = "empty", .least = 1, .most = 1, .body = Empty},
    Function{.name = "eq", .least = 2, .most = kAnyNumber, .body = Equal},
    Function{.name = "ge", .least = 2, .most = 2, .body = GreaterOrEqual},
    Function{.name = "gt", .least = 2, .most = 2, .body = Greater},
    Function{.name = "int", .least = 1, .most = 1, .body = Atoi},
    Function{.name = "int64", .least = 1, .most = 1, .body = Atoi},
    Function{.name = "le", .least = 2, .most = 2, .body = LessOrEqual},
    Function{.name = "lt", .least = 2, .most = 2, .body = Less},
    Function{.name = "max", .least = 1, .most = kAnyNumber, .body = Max},
    Function{.name = "min", .least = 1, .most = kAnyNumber, .body = Min},
    Function{.name = "mod", .least = 2, .most = 2, .body = Mod},
    Function{.name = "mul", .least = 1, .most = kAnyNumber, .body = Mul},
    Function{.name = "ne", .least = 2, .most = 2, .body = NotEqual},
    Function{.name = "not", .least = 1, .most = 1, .body = Not},
    Function{.name = "or",
             .least = 1,
             .most = kAnyNumber,
             .body = Last,
             .stop = Function::Stop::kAtTrue},
    Function{.name = "sub", .least = 2, .most = 2, .body = Sub},
    Function{.name = "ternary", .least = 3, .most = 3, .body = Ternary},
};

}  // namespace

std::span<const Function> NumberFunctions() {
  return kNumberFunctions;
}

}  // namespace kgpu::gotemplate
