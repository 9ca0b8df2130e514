#include "src/kube/cel/functions.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::cel {
namespace {

using Arguments = std::span<const Value>;

Status NoSuchOverload(Arguments arguments) {
  std::vector<std::string> types;
  types.reserve(arguments.size());
  for (const Value& argument : arguments) {
    types.emplace_back(TypeName(argument));
  }
  return InvalidArgument("no such overload for {}", Join(types, ", "));
}

// Calls `run` with the arguments as values of their types.
template <typename... Types, typename Run>
StatusOr<Value> With(Arguments arguments, Run run) {
  return [&]<size_t... I>(std::index_sequence<I...>) -> StatusOr<Value> {
    if (((arguments[I].template If<Types>() == nullptr) || ...)) {
      return NoSuchOverload(arguments);
    }
    return run(*arguments[I].template If<Types>()...);
  }(std::index_sequence_for<Types...>());
}

using Text = std::string;

StatusOr<Value> Sized(int64_t amount) {
  return Value{amount};
}

StatusOr<Value> SizeOf(Arguments arguments) {
  if (const auto* text = arguments[0].If<Text>()) {
    return Sized(static_cast<int64_t>(CountCharacters(*text)));
  }
  if (const List* list = arguments[0].IfList()) {
    return Sized(static_cast<int64_t>(list->size()));
  }
  const Map* map = arguments[0].IfMap();
  return map == nullptr ? StatusOr<Value>(NoSuchOverload(arguments))
                        : Sized(static_cast<int64_t>(map->fields.size()));
}

// A quantity or a version with another.
StatusOr<int> CompareBoth(Arguments arguments) {
  const auto* version = arguments[0].If<Semver>();
  const auto* other = arguments[1].If<Semver>();
  if (version != nullptr && other != nullptr) {
    return Compare(*version, *other);
  }
  const auto* amount = arguments[0].If<Amount>();
  const auto* second = arguments[1].If<Amount>();
  if (amount == nullptr || second == nullptr) {
    return NoSuchOverload(arguments);
  }
  return *amount < *second ? -1 : *second < *amount ? 1 : 0;
}

template <typename Take>
StatusOr<Value> Compared(Arguments arguments, Take take) {
  const StatusOr<int> order = CompareBoth(arguments);
  return order.ok() ? StatusOr<Value>(take(*order)) : order.status();
}

StatusOr<Value> MatchesPattern(Arguments arguments) {
  return With<Text, Text>(arguments, [](const Text& text, const Text& expression) {
    const auto pattern = Pattern::Compile(expression);
    return pattern.ok() ? StatusOr<Value>(Value{pattern->Matches(text)})
                        : StatusOr<Value>(Unimplemented("kgpu cannot evaluate the pattern: {}",
                                                        Message(pattern.status())));
  });
}

Text MapAscii(Text text, char from, char to, int offset) {
  for (char& c : text) {
    c = c >= from && c <= to ? static_cast<char>(c + offset) : c;
  }
  return text;
}

StatusOr<Value> SplitText(const Text& text, const Text& separator) {
  List parts;
  if (separator.empty()) {
    return Unimplemented("kgpu cannot evaluate split(\"\")");
  }
  size_t from = 0;
  for (size_t at = text.find(separator); at != Text::npos; at = text.find(separator, from)) {
    parts.push_back({text.substr(from, at - from)});
    from = at + separator.size();
  }
  parts.push_back({text.substr(from)});
  return ListValue(std::move(parts));
}

template <int kSign>
StatusOr<Value> Sum(Arguments arguments) {
  Value second = arguments[1];
  if (const auto* whole = second.If<int64_t>()) {
    Amount amount;
    if (__builtin_mul_overflow(*whole, 1000, &amount.milli)) {
      return Unimplemented("kgpu cannot evaluate the quantity {}", *whole);
    }
    second = {amount};
  }
  const auto* a = arguments[0].If<Amount>();
  const auto* b = second.If<Amount>();
  if (a == nullptr || b == nullptr) {
    return NoSuchOverload(arguments);
  }
  const Amount sum = kSign > 0 ? *a + *b : *a - *b;
  if (sum.milli == INT64_MAX || sum.milli == INT64_MIN) {
    return Unimplemented("kgpu cannot evaluate such large quantities");
  }
  return Value{sum};
}

StatusOr<Value> AsInteger(const Amount& amount) {
  if (!amount.IsWhole()) {
    return InvalidArgument("{} is no whole number", AmountText("", amount));
  }
  return Value{amount.milli / 1000};
}

template <size_t kAt>
StatusOr<Value> VersionPart(Arguments arguments) {
  return With<Semver>(arguments, [](const Semver& version) -> StatusOr<Value> {
    return Value{static_cast<int64_t>(version.numbers.at(kAt))};
  });
}

template <bool (*kTest)(const Text&, const Text&)>
StatusOr<Value> TestTexts(Arguments arguments) {
  return With<Text, Text>(arguments, [](const Text& a, const Text& b) -> StatusOr<Value> {
    return Value{kTest(a, b)};
  });
}

bool Starts(const Text& text, const Text& part) {
  return text.starts_with(part);
}
bool Ends(const Text& text, const Text& part) {
  return text.ends_with(part);
}
bool HasPart(const Text& text, const Text& part) {
  return text.find(part) != Text::npos;
}

StatusOr<Value> OptionalOr(Arguments arguments) {
  return With<Optional>(arguments.first(1), [&](const Optional& optional) -> StatusOr<Value> {
    return optional.value == nullptr ? arguments[1] : *optional.value;
  });
}

StatusOr<Value> OptionalValue(const Optional& optional) {
  if (optional.value == nullptr) {
    return InvalidArgument("optional.none() has no value");
  }
  return *optional.value;
}

constexpr auto kFunctions = std::to_array<Function>({
    {"size", false, 1, SizeOf},
    {"size", true, 1, SizeOf},
    {"matches", false, 2, MatchesPattern},
    {"matches", true, 2, MatchesPattern},
    {"startsWith", true, 2, TestTexts<Starts>},
    {"endsWith", true, 2, TestTexts<Ends>},
    {"contains", true, 2, TestTexts<HasPart>},
    {"lowerAscii", true, 1,
     [](Arguments a) {
       return With<Text>(a, [](const Text& text) -> StatusOr<Value> {
         return Value{MapAscii(text, 'A', 'Z', 'a' - 'A')};
       });
     }},
    {"upperAscii", true, 1,
     [](Arguments a) {
       return With<Text>(a, [](const Text& text) -> StatusOr<Value> {
         return Value{MapAscii(text, 'a', 'z', 'A' - 'a')};
       });
     }},
    {"split", true, 2, [](Arguments a) { return With<Text, Text>(a, SplitText); }},
    {"quantity", false, 1, [](Arguments a) { return With<Text>(a, QuantityValue); }},
    {"compareTo", true, 2,
     [](Arguments a) { return Compared(a, [](int order) { return Value{int64_t{order}}; }); }},
    {"isGreaterThan", true, 2,
     [](Arguments a) { return Compared(a, [](int order) { return Value{order > 0}; }); }},
    {"isLessThan", true, 2,
     [](Arguments a) { return Compared(a, [](int order) { return Value{order < 0}; }); }},
    {"add", true, 2, Sum<1>},
    {"sub", true, 2, Sum<-1>},
    {"isInteger", true, 1,
     [](Arguments a) {
       return With<Amount>(
           a, [](const Amount& amount) -> StatusOr<Value> { return Value{amount.IsWhole()}; });
     }},
    {"asInteger", true, 1, [](Arguments a) { return With<Amount>(a, AsInteger); }},
    {"asApproximateFloat", true, 1,
     [](Arguments a) {
       return With<Amount>(a, [](const Amount& amount) -> StatusOr<Value> {
         return Value{static_cast<double>(amount.milli) / 1000};
       });
     }},
    {"semver", false, 1,
     [](Arguments a) {
       return With<Text>(a, [](const Text& text) -> StatusOr<Value> {
         const auto version = ParseSemver(text);
         return version ? StatusOr<Value>(Value{*version})
                        : InvalidArgument("\"{}\" is no semantic version", Printable(text, 80));
       });
     }},
    {"isSemver", false, 1,
     [](Arguments a) {
       return With<Text>(a, [](const Text& text) -> StatusOr<Value> {
         return Value{ParseSemver(text).has_value()};
       });
     }},
    {"major", true, 1, VersionPart<0>},
    {"minor", true, 1, VersionPart<1>},
    {"patch", true, 1, VersionPart<2>},
    {"orValue", true, 2, OptionalOr},
    {"hasValue", true, 1,
     [](Arguments a) {
       return With<Optional>(a, [](const Optional& optional) -> StatusOr<Value> {
         return Value{optional.value != nullptr};
       });
     }},
    {"value", true, 1, [](Arguments a) { return With<Optional>(a, OptionalValue); }},
});

}  // namespace

const Function* FindFunction(std::string_view name, bool is_method, size_t arguments) {
  const auto* const found = std::ranges::find_if(kFunctions, [&](const Function& function) {
    return function.name == name && function.is_method == is_method &&
           function.arguments == arguments;
  });
  return found == kFunctions.end() ? nullptr : found;
}

}  // namespace kgpu::cel
